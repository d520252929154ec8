import KFNetwork
import KFStorage
import Synchronization

/// The upload of one image.
///
/// `@unchecked Sendable`, because one worker at a time owns it; the answer of the layer and what it has read are under the
/// lock.
final class RemoteUpload: StoreWork, RemoteWaiter, @unchecked Sendable {
    private enum Step { case begin, original, reach, check, verify, write, entry }

    /// The answer to the request in flight, and what it has read.
    private struct Arrival {
        var answer = CacheLayerAnswer.absent
        /// The entry of the original.
        var entry: [UInt8] = []
        /// The hash of the object; nil for other requests.
        var hash: SHA256?
    }

    private let uploads: RemoteUploads
    private let entry: RemoteEntry
    private let file: StoredFile
    private var terms: Terms
    private var step = Step.begin
    /// The number of tries that found the blob locked or the remote busy.
    private var tries = 0
    /// Whether the remote has the original that the image was made from.
    private var hasOriginal = false
    /// Whether the object is in the remote.
    private var hasObject = false
    /// Whether the remote's own object was read, or is known to be wrong.
    private var isVerified = false
    private let arrival = Mutex(Arrival())

    typealias Origin = (reach: NetworkReach, url: String)

    /// The conditions of an upload.
    struct Terms: Sendable {
        /// The nearest server that the image came from; nil for an image that was made of a cached original.
        var origin: Origin?
        /// The key of the original that the remote must have; nil for an image from its origin.
        var original: EntryKey?
        /// Whether the remote had this object when it confirmed the image.
        var isKnown = false
        /// Whether to replace an object that is not what it should be.
        var replaces = false
    }

    /// The size from which an object is asked for before it is sent, in bytes.
    private static let checkedFrom: Int64 = 256 << 10
    /// The greatest number of tries of a blob that is locked, or of a remote that is busy.
    private static let mostTries = 8

    init(_ entry: RemoteEntry, _ file: StoredFile, _ terms: Terms, to uploads: RemoteUploads) {
        self.entry = entry
        self.file = file
        self.terms = terms
        self.uploads = uploads
        isVerified = terms.replaces
    }

    /// The digest of the image's bytes.
    var object: Digest { entry.object }

    /// The URL that the image came from, or its key where that is no URL.
    var source: String { file.entry.url ?? file.entry.key.key }

    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool {
        arrival.withLock { arrival in
            if request.kind == .entry { arrival.entry.append(contentsOf: bytes) } else { arrival.hash?.update(bytes) }
        }
        return true
    }

    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) -> (any StoreWork)? {
        arrival.withLock { $0.answer = answer }
        return self
    }

    func run(in batch: StoreBatch) {
        let answer = arrival.withLock { $0.answer }
        if step != .begin, takesLater(answer) { return }
        switch step {
        case .begin: proceed(batch)
        case .original:
            // An original that is not in the remote may be secret, and then its results are too. The name alone proves
            // nothing: the remote may have another image there.
            guard answer == .done else { return uploads.ended(self, answer == .absent ? .skipped : .dropped) }
            let name = terms.original.map(RemoteEntry.name) ?? ""
            guard let found = RemoteEntry(arrival.withLock { $0.entry }, name: name), found.object == entry.original
            else { return uploads.ended(self, .skipped) }
            hasOriginal = true
            proceed(batch)
        case .reach:
            switch answer {
            case .done, .absent: putObject(batch)
            default: fail(answer)
            }
        case .check:
            switch answer {
            case .done: if terms.isKnown { haveObject(batch) } else { verify(batch) }
            case .absent: writeObject(batch)
            default: fail(answer)
            }
        case .verify:
            switch answer {
            case .done where arrival.withLock({ $0.hash?.finish() }) == entry.object: haveObject(batch)
            // Bytes that another writer left, and that no reader can use.
            case .done, .refusedBlob:
                terms.replaces = true
                writeObject(batch)
            case .absent: writeObject(batch)
            default: fail(answer)
            }
        case .write:
            switch answer {
            case .done: haveObject(batch)
            case .exists where !isVerified: verify(batch)
            case .exists: fail(.refusedBlob("it has an object of this name, and does not replace it"))
            default: fail(answer)
            }
        case .entry:
            if answer == .done || answer == .exists { uploads.ended(self, .uploaded) } else { fail(answer) }
        }
    }

    private func proceed(_ batch: StoreBatch) {
        if let original = terms.original, !hasOriginal {
            step = .original
            return ask(.read, .entry, RemoteEntry.name(of: original), batch)
        }
        if hasObject { return writeEntry(batch) }
        if terms.origin != nil, uploads.remote.layer.reach == nil {
            // The request brings the remote's address.
            step = .reach
            return ask(.check, .object, entry.object.hex, batch)
        }
        putObject(batch)
    }

    /// Uploads the object, unless it is there.
    private func putObject(_ batch: StoreBatch) {
        // An upload that waits may go on, on another thread, before this returns.
        step = .begin
        switch uploads.claimObject(entry.object, self) {
        case .wait: break
        case .isThere: haveObject(batch)
        case .upload where terms.replaces: writeObject(batch)
        // At a second try, the writer that was in the way has probably stored it.
        case .upload where terms.isKnown || entry.size >= Self.checkedFrom || tries > 0:
            step = .check
            ask(.check, .object, entry.object.hex, batch)
        case .upload: writeObject(batch)
        }
    }

    /// Reads the object that the remote has: its name does not prove its bytes.
    private func verify(_ batch: StoreBatch) {
        (step, isVerified) = (.verify, true)
        ask(.read, .object, entry.object.hex, limit: entry.size, hash: SHA256(), batch)
    }

    private func haveObject(_ batch: StoreBatch) {
        hasObject = true
        uploads.noteUploaded(entry.object, self)
        writeEntry(batch)
    }

    private func writeObject(_ batch: StoreBatch) {
        guard isAllowed else { return uploads.ended(self, .skipped) }
        do throws(KingfisherError) {
            step = .write
            let body = CacheLayerBody.file(try file.open())
            ask(.write(body, replaces: terms.replaces), .object, entry.object.hex, batch)
        } catch {
            // The image was evicted meanwhile.
            uploads.ended(self, .dropped)
        }
    }

    private func writeEntry(_ batch: StoreBatch) {
        let json = entry.json
        // Readers refuse a longer one.
        guard isAllowed, json.count <= RemoteEntry.longest else { return uploads.ended(self, .skipped) }
        step = .entry
        ask(.write(.bytes(json), replaces: true), .entry, entry.name, batch)
    }

    /// Whether the remote is no further away than the origin of the image.
    private var isAllowed: Bool {
        guard let origin = terms.origin, origin.reach < uploads.remote.layer.reach ?? .internet else { return true }
        uploads.log.noteNotUploaded(
            "\(origin.url) has a private address; such images are not uploaded to the remote \(uploads.remote.name), "
                + "which is further away", kind: "further than \(uploads.remote.name)")
        return false
    }

    private func ask(
        _ operation: CacheLayerRequest.Operation, _ kind: CacheLayerRequest.Kind, _ name: String,
        limit: Int64 = Int64(RemoteEntry.longest), hash: SHA256? = nil, _ batch: StoreBatch
    ) {
        guard uploads.remote.isWritable else { return uploads.ended(self, .dropped) }
        arrival.withLock { $0 = Arrival(hash: hash) }
        batch.starts.requests.append(
            CacheLayerRequest(operation, kind, name, limit: limit, of: uploads.remote, for: self))
    }

    /// Tries again later if the blob is locked or the remote busy, a limited number of times. Returns whether it does.
    private func takesLater(_ answer: CacheLayerAnswer) -> Bool {
        let rest: Duration
        switch answer {
        // The locks of a server last as long as the other writer's upload.
        case .locked: rest = .milliseconds(Int64.random(in: 100...200) << min(tries, 5))
        // The remote as a whole pauses.
        case .busy: rest = .zero
        default: return false
        }
        tries += 1
        guard tries < Self.mostTries else { return false }
        step = .begin
        uploads.repeats(self, after: rest)
        return true
    }

    private func fail(_ answer: CacheLayerAnswer) {
        switch answer {
        case .refusedBlob(let reason), .locked(let reason):
            uploads.log.tellOnce(
                "the remote \(uploads.remote.name) refuses an image: \(reason)", kind: "\(uploads.remote.name) refuses")
        default: break
        }
        if case .busy = answer {} else { uploads.noteError(of: self) }
        uploads.ended(self, .dropped)
    }
}
