import KFImaging
import KFNetwork
import KFRemote
import KFStorage
import KFTerms
import Synchronization

final class RemoteUpload: StoreWork, RemoteWaiter {
    typealias Origin = (reach: NetworkReach, url: String)

    struct Terms: Sendable {
        /// The nearest server that the image came from; nil for an image that was made of a cached original.
        var origin: Origin?
        /// The key of the original that the remote must have; nil for an image from its origin.
        var original: EntryKey?
        /// Whether the remote had this object when it confirmed the image.
        var isKnown = false
        /// Whether to replace an object that is not what it should be.
        var replaces = false
        /// Set for an image of a push: whether it is only asked what the remote lacks, its time, and the receiver of the end.
        var push: (isDryRun: Bool, now: Timestamp, ended: @Sendable (RemoteUploads.End) -> Void)?
    }

    private enum Step { case begin, present, original, reach, overlay, check, verify, write, entry }

    private enum Next {
        case ask(Step)
        /// Learn whether the remote has the overlay that is to be found there first.
        case seek(overlay: Digest)
        case found(overlay: Digest)
        /// Upload the object, unless it is there or another upload brings it.
        case claim
        case again(after: Duration)
        case fail(CacheLayerAnswer)
        case end(RemoteUploads.End)
    }

    /// The request in flight, what has arrived for it, and what is known of the remote.
    private struct Progress {
        var step = Step.begin
        var answer = CacheLayerAnswer.absent
        var entry: [UInt8] = []
        /// The hash of the remote's object, while that is read.
        var hash: SHA256?
        /// The number of tries that found the blob locked or the remote busy.
        var tries = 0
        /// Whether the remote is known to lack the entry, or to have an older one.
        var isLacking: Bool
        /// Whether the remote has the original that the image was made from, and the object.
        var hasOriginal = false
        var hasObject = false
        /// The files of the image's watermarks that the remote is not known to have.
        var overlays: ArraySlice<Digest>
        /// Whether the remote's own object was read, or is known to be wrong.
        var isVerified: Bool
        var replaces: Bool
    }

    private let uploads: RemoteUploads
    private let entry: RemoteEntry
    private let file: StoredFile
    private let terms: Terms
    private let progress: Mutex<Progress>

    /// The size from which an object is asked for before it is sent, in bytes.
    private static let checkedFrom: Int64 = 256 << 10
    /// The greatest size of an overlay that is read from the remote, in bytes.
    private static let longestOverlay: Int64 = 64 << 20
    /// The greatest number of tries of a blob that is locked, or of a remote that is busy.
    private static let mostTries = 8

    init(_ entry: RemoteEntry, _ file: StoredFile, _ terms: Terms, to uploads: RemoteUploads) {
        self.entry = entry
        self.file = file
        self.terms = terms
        self.uploads = uploads
        let overlays = WatermarkImageProcessor.overlays(in: file.entry.key.identifier).compactMap { Digest(hex: $0) }
        objects = [entry.object] + overlays
        progress = Mutex(
            Progress(
                isLacking: terms.push == nil, overlays: overlays[...], isVerified: terms.replaces,
                replaces: terms.replaces))
    }

    /// Tells a push how the upload has ended.
    func tell(_ end: RemoteUploads.End) { terms.push?.ended(end) }

    /// The object of the image, and those of its overlays.
    let objects: [Digest]

    /// The URL that the image came from, or its key where that is not a URL.
    var source: String { file.entry.url ?? file.entry.key.key }

    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool {
        progress.withLock { progress in
            if request.kind == .entry { progress.entry.append(contentsOf: bytes) } else { progress.hash?.update(bytes) }
        }
        return true
    }

    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) {
        progress.withLock { $0.answer = answer }
        StoreWorkers.shared.add([self])
    }

    func run(_ turn: inout Turn) {
        switch progress.withLock({ next(&$0) }) {
        case .ask(let step): ask(step, &turn)
        case .seek(let overlay): seek(overlay, &turn)
        case .found(let overlay):
            uploads.noteUploaded(overlay, self)
            run(&turn)
        case .claim: claim(&turn)
        case .again(let rest): uploads.repeats(self, after: rest)
        case .fail(let answer): fail(answer)
        case .end(let end):
            if case .skipped(Self.lacksOverlay) = end {
                uploads.log.noteNotUploaded(
                    "\(RequestURL.redacted(source)) has a watermark whose file the remote \(uploads.remote.name) does not "
                        + "have; such images are not uploaded to it", kind: "overlays that \(uploads.remote.name) lacks"
                )
            }
            uploads.ended(self, end)
        }
    }

    /// Lets one upload at a time ask for an overlay, after the upload of that itself.
    private func seek(_ overlay: Digest, _ turn: inout Turn) {
        switch uploads.claimObject(overlay, self) {
        case .wait: break
        case .isThere:
            progress.withLock { _ = $0.overlays.popFirst() }
            run(&turn)
        case .upload: ask(.overlay, &turn)
        }
    }

    // MARK: Steps

    private func next(_ progress: inout Progress) -> Next {
        let answer = progress.answer
        switch (progress.step, answer) {
        case (.begin, _): return first(&progress)
        case (_, .locked), (_, .busy):
            progress.tries += 1
            guard progress.tries < Self.mostTries else {
                return progress.step == .original ? .end(.dropped(Self.unknownOriginal)) : .fail(answer)
            }
            progress.step = .begin
            // The remote as a whole pauses. The locks of a server last as long as the other writer's upload.
            if case .busy = answer { return .again(after: .zero) }
            return .again(after: .milliseconds(Int64.random(in: 100...200) << min(progress.tries - 1, 5)))
        case (.present, .done) where RemoteEntry(progress.entry, name: entry.name).map(isUpToDate) == true:
            return .end(.present)
        case (.present, .done), (.present, .absent):
            if terms.push?.isDryRun == true { return .end(.lacking) }
            progress.isLacking = true
            return first(&progress)
        // An original that is not in the remote may be secret, and then its results are too. The name alone proves
        // nothing: the remote may have another image there.
        case (.original, .done):
            let name = terms.original.map(RemoteEntry.name) ?? ""
            guard RemoteEntry(progress.entry, name: name)?.object == entry.original else {
                return .end(.skipped(Self.lacksOriginal))
            }
            progress.hasOriginal = true
            return first(&progress)
        case (.original, .absent): return .end(.skipped(Self.lacksOriginal))
        case (.original, _): return .end(.dropped(Self.unknownOriginal))
        // An overlay may be secret like an original, and its hash alone proves nothing of what the remote has.
        case (.overlay, .done) where progress.hash?.finish() == progress.overlays.first:
            progress.step = .begin
            return progress.overlays.popFirst().map { .found(overlay: $0) } ?? first(&progress)
        case (.overlay, .done), (.overlay, .absent), (.overlay, .refusedBlob): return .end(.skipped(Self.lacksOverlay))
        case (.reach, .done), (.reach, .absent):
            progress.step = .begin
            return .claim
        case (.check, .done): return .ask(terms.isKnown ? .entry : .verify)
        case (.verify, .done) where progress.hash?.finish() == entry.object: return .ask(.entry)
        case (.verify, .done), (.verify, .refusedBlob):
            // Bytes that another writer left, and that no reader can use.
            progress.replaces = true
            return .ask(.write)
        case (.check, .absent), (.verify, .absent): return .ask(.write)
        case (.write, .done): return .ask(.entry)
        case (.write, .exists) where !progress.isVerified: return .ask(.verify)
        case (.write, .exists):
            return .fail(.refusedBlob("it has an object of this name, and does not replace it"))
        case (.entry, .done), (.entry, .exists): return .end(.uploaded)
        default: return .fail(answer)
        }
    }

    private static let lacksOriginal = "the remote does not have the original that it was made from"
    private static let lacksOverlay = "the remote does not have the file of its watermark"
    private static let unknownOriginal = "the remote does not say whether it has the original"
    private static let isPrivate = "its origin is nearer than the remote"

    /// Whether the entry of the remote is as new as this one, and not expired where this one is fresh again.
    private func isUpToDate(_ other: RemoteEntry) -> Bool {
        guard other.stored >= entry.stored, let now = terms.push?.now else { return false }
        return !other.isExpired(at: now) || entry.isExpired(at: now)
    }

    /// Returns the first thing that is not known yet.
    private func first(_ progress: inout Progress) -> Next {
        if !progress.isLacking { return .ask(.present) }
        if terms.original != nil, !progress.hasOriginal { return .ask(.original) }
        if let overlay = progress.overlays.first { return .seek(overlay: overlay) }
        if progress.hasObject { return .ask(.entry) }
        // The request brings the remote's address.
        return terms.origin != nil && uploads.remote.layer.reach == nil ? .ask(.reach) : .claim
    }

    private func claim(_ turn: inout Turn) {
        // An upload that waits may go on, on another thread, before this returns.
        switch uploads.claimObject(entry.object, self) {
        case .wait: break
        case .isThere: ask(.entry, &turn)
        case .upload:
            let (replaces, tries) = progress.withLock { ($0.replaces, $0.tries) }
            // At a second try, the writer that was in the way has probably stored it.
            let checks = terms.isKnown || entry.size >= Self.checkedFrom || tries > 0
            ask(checks && !replaces ? .check : .write, &turn)
        }
    }

    private func ask(_ step: Step, _ turn: inout Turn) {
        let replaces = progress.withLock { progress in
            progress.step = step
            (progress.entry, progress.hash) = ([], step == .verify || step == .overlay ? SHA256() : nil)
            if step == .verify { progress.isVerified = true }
            if step == .entry { progress.hasObject = true }
            return progress.replaces
        }
        switch step {
        case .begin: break
        case .present: ask(.read, .entry, entry.name, &turn)
        case .original: ask(.read, .entry, terms.original.map(RemoteEntry.name) ?? "", &turn)
        case .overlay:
            let overlay = progress.withLock { $0.overlays.first }
            ask(.read, .object, overlay?.hex ?? "", limit: Self.longestOverlay, &turn)
        case .reach, .check: ask(.check, .object, entry.object.hex, &turn)
        // The name of the object that the remote has does not prove its bytes.
        case .verify: ask(.read, .object, entry.object.hex, limit: entry.size, &turn)
        case .write:
            guard isAllowed else { return uploads.ended(self, .skipped(Self.isPrivate)) }
            do throws(KingfisherError) {
                // A run uploads files that it has just stored. The files of a push may be years old.
                if terms.push != nil, try file.open().digest() != entry.object {
                    uploads.log.tellOnce(
                        "\(file.path) is damaged, and not uploaded; 'kf cache verify --repair' removes it",
                        kind: "damaged files")
                    return uploads.ended(self, .failed("its file in the cache is damaged"))
                }
                let body = CacheLayerBody.file(try file.open())
                ask(.write(body, replaces: replaces), .object, entry.object.hex, &turn)
            } catch {
                // The image was evicted meanwhile.
                uploads.ended(self, .dropped(error.message))
            }
        case .entry:
            uploads.noteUploaded(entry.object, self)
            let json = entry.json
            // Readers refuse a longer one.
            guard isAllowed else { return uploads.ended(self, .skipped(Self.isPrivate)) }
            guard json.count <= RemoteEntry.longest else {
                return uploads.ended(self, .skipped("its description is too long"))
            }
            ask(.write(.bytes(json), replaces: true), .entry, entry.name, &turn)
        }
    }

    private func ask(
        _ operation: CacheLayerRequest.Operation, _ kind: CacheLayerRequest.Kind, _ name: String,
        limit: Int64 = Int64(RemoteEntry.longest), _ turn: inout Turn
    ) {
        guard uploads.remote.isWritable else { return uploads.ended(self, .dropped("the remote takes no uploads")) }
        turn.requests.append(
            CacheLayerRequest(operation, kind, name, limit: limit, of: uploads.remote, for: self))
    }

    /// Whether the remote is no further away than the origin of the image.
    private var isAllowed: Bool {
        guard let origin = terms.origin, origin.reach < uploads.remote.layer.reach ?? .internet else { return true }
        uploads.log.noteNotUploaded(
            "\(origin.url) has a private address; such images are not uploaded to the remote \(uploads.remote.name), "
                + "which is further away", kind: "further than \(uploads.remote.name)")
        return false
    }

    private func fail(_ answer: CacheLayerAnswer) {
        switch answer {
        case .refusedBlob(let reason), .locked(let reason):
            uploads.log.tellOnce(
                "the remote \(uploads.remote.name) refuses an image: \(reason)", kind: "\(uploads.remote.name) refuses")
        default: break
        }
        let reason = answer.problem ?? ""
        if case .busy = answer { return uploads.ended(self, .dropped(reason)) }
        uploads.ended(self, .failed(reason))
    }
}
