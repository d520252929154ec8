import KFImaging
import KFNetwork
import KFRemote
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// The look-up of images of one source in the remotes, shared by all of its waiters: the entries of the images and of their
/// original, then the objects of those that can be used. It is its own key.
///
/// A worker takes the step out, and puts in the next one before anything can bring the read back to a worker.
final class RemoteRead: SharedWork, RemoteWaiter {
    private enum Step {
        case nothing
        /// The entries with these names are read.
        case entries([String], Remote)
        case room([RemoteObject])
        case objects([RemoteObject])
        /// The store of an expired original, whose entry has members that kf does not know.
        case imported([StrictJSON.Member])
    }

    private struct Search {
        var step = Step.nothing
        /// The number of requests in flight, and what has arrived for them.
        var left = 0
        var entries: [[UInt8]] = []
        var answers: [CacheLayerAnswer] = []
        var remotes: ArraySlice<Remote>
        /// The processed images that no remote had so far.
        var missing: [Retrieval]
        /// The objects that were read.
        var found: [RemoteObject.Content] = []
        /// The original in the remote that was asked last, for the images that are still missing.
        var original: RemoteObject?
        /// A stale original, for the case that no remote has a fresh image.
        var stale: RemoteObject?
        var tries = 0
        /// The room that is taken: for the part of the objects that may be in memory, and their number.
        var room: (bytes: Int64, count: Int)?
        /// Whether an entry or object of the first remote was not what it should be, so that an upload replaces it.
        var isDamaged = false
        /// The error of the disk cache, which ends the read.
        var problem: KingfisherError?
    }

    let table: WorkTable
    private let tier: RemoteTier
    /// The retrieval of the only image, or of the original of several.
    private let retrieval: Retrieval
    private let images: [EntryKey]
    /// Whether an image is the unprocessed original, or can only be made from it.
    private let needsOriginal: Bool
    private let usesStale: Bool
    private let search: Mutex<Search>
    /// The number of bodies that are not stored yet.
    private let unstored = Atomic(0)

    init(_ job: ImageJob, _ tier: RemoteTier) {
        (table, self.tier, retrieval, usesStale) = (job.downloader.work, tier, job.retrieval, job.asking.stale == nil)
        let wanted = job.makesVariants ? job.variants : [retrieval]
        var processed: [Retrieval] = []
        // Nothing proves what a remote has made an image from.
        for image in wanted where image.target != image.original && !retrieval.needsProof {
            if !processed.contains(where: { $0.target == image.target }) { processed.append(image) }
        }
        images = processed.map(\.target)
        needsOriginal = retrieval.needsProof || wanted.contains { $0.target == $0.original }
        search = Mutex(Search(remotes: tier.remotes[...], missing: processed))
    }

    deinit { leaveRoom() }

    private func leaveRoom() {
        if let room = search.withLock({ $0.room.take() }) { tier.room.change(bytes: -room.bytes, count: -room.count) }
    }

    var key: WorkKey { .remote(self) }

    func stored() {
        if unstored.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { table.end(self) }
    }

    func abandon() { for remote in tier.remotes { remote.giveUp(for: self) } }

    // MARK: The layer's side

    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool {
        let object = search.withLock { search -> RemoteObject? in
            if case .objects(let objects) = search.step { return objects[request.number] }
            search.entries[request.number].append(contentsOf: bytes)
            return nil
        }
        return object?.receive(bytes) ?? true
    }

    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) {
        let answer = request.isTooLong ? .refusedBlob("it is too long") : answer
        let isLast = search.withLock { search in
            search.answers[request.number] = answer
            search.left -= 1
            return search.left == 0
        }
        if isLast { StoreWorkers.shared.add([self]) }
    }

    // MARK: Steps

    func run(_ turn: inout Turn) {
        guard table.isWanted(self) else { return }
        let (step, entries, answers) = search.withLock { search in
            defer { search.step = .nothing }
            return (search.step, search.entries, search.answers)
        }
        switch step {
        case .nothing: askNext(&turn)
        case .entries(let names, let remote): arrived(entries, names, answers, of: remote, &turn)
        case .room(let objects): read(objects, &turn)
        case .objects(let objects): arrived(objects, answers, &turn)
        case .imported(let members):
            end(.imported(members, isDamaged: search.withLock { $0.isDamaged }), &turn)
        }
    }

    private func askNext(_ turn: inout Turn) {
        if ask(&turn) { return }
        if let problem = tier.presentProblem { return end(.failed(problem), &turn) }
        if let stale = search.withLock({ $0.stale.take() }) {
            if usesStale { return reserve([stale], &turn) }
            // The disk has it too, so that this is no miss.
        } else {
            tier.log.count(\.misses)
        }
        end(nil, &turn)
    }

    /// Adds the requests for the entries to the next remote. Returns false if there is none.
    func ask(_ turn: inout Turn) -> Bool {
        guard tier.presentProblem == nil else { return false }
        let names = (search.withLock { $0.missing }.map(\.target) + [retrieval.original]).map(RemoteEntry.name)
        while let remote = search.withLock({ $0.remotes.popFirst() }) {
            switch remote.admitLookUp() {
            case .skip: continue
            case .probe where !tier.isRequired:
                turn.requests.append(CacheLayerRequest(.check, .entry, names[0], of: remote, for: Probe.shared))
            case .ask, .probe:
                let blobs = names.map { (name: $0, limit: Int64(RemoteEntry.longest), remote: remote) }
                read(.entry, blobs, .entries(names, remote), &turn)
                return true
            }
        }
        return false
    }

    /// Adds requests for blobs. The end of the last one brings the read back to a worker, for the step.
    private func read(
        _ kind: CacheLayerRequest.Kind, _ blobs: [(name: String, limit: Int64, remote: Remote)], _ step: Step,
        _ turn: inout Turn
    ) {
        search.withLock { search in
            (search.step, search.left) = (step, blobs.count)
            search.entries = Array(repeating: [], count: blobs.count)
            search.answers = Array(repeating: .absent, count: blobs.count)
        }
        turn.requests += blobs.enumerated().map { number, blob in
            CacheLayerRequest(.read, kind, blob.name, limit: blob.limit, of: blob.remote, for: self, number: number)
        }
    }

    private func arrived(
        _ entries: [[UInt8]], _ names: [String], _ answers: [CacheLayerAnswer], of remote: Remote, _ turn: inout Turn
    ) {
        var found: [RemoteEntry?] = []
        var hasFailed = false
        for (index, name) in names.enumerated() {
            let entry = answers[index] == .done ? RemoteEntry(entries[index], name: name) : nil
            switch answers[index] {
            case .done where entry != nil, .absent, .exists, .locked: break
            case .done, .refusedBlob: noteDamage("an entry that cannot be used", .entry, name, remote)
            case .busy: tier.log.count(\.errors)
            case .failed, .refused:
                tier.log.count(\.errors)
                hasFailed = true
            }
            found.append(entry.flatMap { retrieval.accepts($0) ? $0 : nil })
        }
        let objects = choose(found, of: remote, hasFailed: hasFailed)
        if objects.isEmpty { goOn(&turn) } else { reserve(objects, &turn) }
    }

    /// Chooses the objects of images, and notes the original for those that the remote does not have.
    private func choose(_ entries: [RemoteEntry?], of remote: Remote, hasFailed: Bool) -> [RemoteObject] {
        func object(of image: Retrieval, among entries: [RemoteEntry?]) -> RemoteObject? {
            image.choice(of: entries).map { choice in
                RemoteObject(
                    choice.entry, choice.entry.object, choice.key, of: image, in: remote, isStale: choice.isStale)
            }
        }
        let (images, original) = (search.withLock { $0.missing }, entries.last ?? nil)
        let objects = zip(images, entries).compactMap { image, entry in
            object(of: image, among: [entry, original]).flatMap { $0.key == image.target ? $0 : nil }
        }
        var found = object(of: retrieval, among: [original])
        if found?.isStale ?? true, !hasFailed, let pinned = retrieval.pin?.digest {
            found = RemoteObject(nil, pinned, retrieval.original, of: retrieval, in: remote)
        }
        if let found, !found.isStale {
            search.withLock { $0.original = found }
        } else {
            search.withLock { $0.stale = $0.stale ?? found }
            let isComplete = !needsOriginal && objects.count == images.count
            if hasFailed, !isComplete, triesAgain() { search.withLock { $0.remotes = [remote] + $0.remotes } }
        }
        return objects
    }

    /// Whether a request that failed is made again: where the remote is required, until it counts as dead.
    private func triesAgain() -> Bool {
        let tries = search.withLock { search in
            search.tries += 1
            return search.tries
        }
        return tier.isRequired && tries <= RemoteHealth.mostFailures && tier.presentProblem == nil
    }

    /// Reads objects when there is room for them.
    private func reserve(_ objects: [RemoteObject], _ turn: inout Turn) {
        let share = objects.reduce(0) { $0 + min($1.entry?.size ?? .max, Int64(ArrivingBody.memoryLimit)) }
        let hasRoom = search.withLock { search in
            search.step = .room(objects)
            defer { search.room = ((search.room?.bytes ?? 0) + share, (search.room?.count ?? 0) + objects.count) }
            return search.room != nil
        }
        // A read that waited for more while it holds some could wait for ever.
        if hasRoom { tier.room.change(bytes: share, count: objects.count) }
        if hasRoom || tier.room.reserve(share, count: objects.count, for: self) { read(objects, &turn) }
    }

    /// Reads objects from the disk cache if it has them, else from the remote.
    private func read(_ objects: [RemoteObject], _ turn: inout Turn) {
        // A cached object that is damaged or cannot be copied comes from the remote.
        let absent = objects.filter { object in
            if bestEffort({ try object.copy() }) == true {
                if note(object) { return false }
                object.place.alreadyOpen?.distrust(object.digest)
            }
            object.begin()
            return true
        }
        if absent.isEmpty { return goOn(&turn) }
        let most = retrieval.options.request.maxBytes
        let blobs = absent.map { (name: $0.digest.hex, limit: $0.entry?.size ?? most, remote: $0.remote) }
        read(.object, blobs, .objects(absent), &turn)
    }

    private func arrived(_ objects: [RemoteObject], _ answers: [CacheLayerAnswer], _ turn: inout Turn) {
        var failed: [RemoteObject] = []
        for (object, answer) in zip(objects, answers) {
            switch answer {
            case .done, .exists, .locked:
                if note(object) { continue }
                noteDamage("an image that is not what its entry says", .object, object.digest.hex, object.remote)
            case .absent:
                if let entry = object.entry {
                    noteDamage("an entry whose image is missing", .entry, entry.name, object.remote)
                }
            case .refusedBlob:
                noteDamage("an image that cannot be used", .object, object.digest.hex, object.remote)
            case .failed, .refused, .busy:
                tier.log.count(\.errors)
                failed.append(object)
            }
        }
        if !failed.isEmpty, triesAgain() { return read(failed, &turn) }
        goOn(&turn)
    }

    /// Notes an object that has arrived. Returns false if it is not what its entry says.
    private func note(_ object: RemoteObject) -> Bool {
        do throws(KingfisherError) {
            let content = try object.checked()
            tier.log.count(\.hits)
            search.withLock { search in
                search.found.append(content)
                search.missing.removeAll { $0.target == object.key }
            }
        } catch {
            guard error.isCacheFailure else { return false }
            search.withLock { $0.problem = error }
        }
        return true
    }

    /// Goes on when objects have been read: with those of the original or of the next remote, if images are still missing.
    private func goOn(_ turn: inout Turn) {
        let (problem, found, missing, original) = search.withLock {
            ($0.problem, $0.found, $0.missing, $0.original.take())
        }
        if let problem { return end(.failed(problem), &turn) }
        if let last = found.last, last.object.isStale { return importStale(last, &turn) }
        let hasOriginal = found.contains { $0.object.retrieval === retrieval }
        if hasOriginal || missing.isEmpty && !needsOriginal { return end(nil, &turn) }
        // A remote that rests or refuses by now is asked for no more.
        if let original, tier.presentProblem == nil, !original.remote.isDown {
            reserve([original], &turn)
        } else {
            askNext(&turn)
        }
    }

    private func noteDamage(_ what: String, _ kind: CacheLayerRequest.Kind, _ name: String, _ remote: Remote) {
        tier.log.noteDamage(what, at: remote.layer.location(of: kind, name), of: remote.name)
        if remote === tier.remotes.first { search.withLock { $0.isDamaged = true } }
    }

    /// Stores an expired original, so that the look-up finds it as one of its own.
    private func importStale(_ content: RemoteObject.Content, _ turn: inout Turn) {
        let (cache, entry) = (retrieval.originals, content.object.entry)
        var facts = retrieval.facts(
            format: content.findings.format, pixels: content.findings.info.map(PixelFacts.init),
            origin: entry.map { retrieval.origin(of: $0) }, original: nil, now: retrieval.now)
        facts.isKeptStale = true
        do throws(KingfisherError) {
            guard let change = try cache.order(content.bytes, retrieval.original, facts) else { return end(nil, &turn) }
            search.withLock { $0.step = .imported(entry?.unknown ?? []) }
            turn.beginStores(urgent: !retrieval.options.batchesStores)
            turn.store(StoreOrder(change, in: cache, .call { [self] _, _ in StoreWorkers.shared.add([self]) }))
        } catch {
            end(.failed(error), &turn)
        }
    }

    /// Ends with what was found. `answer` counts where that is neither the original nor the only image.
    private func end(_ answer: Answer? = nil, _ turn: inout Turn) {
        let (found, isDamaged) = search.withLock { search in
            defer { search.found = [] }
            return (search.found.filter { !$0.object.isStale }, search.isDamaged)
        }
        let bodies = found.map { content in
            Body(
                content.bytes, content.findings, of: self, entry: content.object.entry,
                way: content.object.entry == nil ? .pinned : .remote)
        }
        var (answer, images) = (answer ?? .absent(isDamaged: isDamaged), [EntryKey: Body]())
        for (object, body) in zip(found.map(\.object), bodies) {
            if object.retrieval === retrieval { answer = .body(body) } else { images[object.key] = body }
        }
        if !images.isEmpty { answer = .images(images, others: answer) }
        unstored.store(bodies.count, ordering: .relaxed)
        // A job keeps its last work while it waits for a retry.
        if bodies.isEmpty { leaveRoom() }
        table.deliver(answer, of: self, stays: !bodies.isEmpty, &turn)
        for body in bodies { body.release() }
    }
}

extension RemoteRead: Hashable {
    static func == (a: RemoteRead, b: RemoteRead) -> Bool {
        a === b
            || a.images == b.images && a.needsOriginal == b.needsOriginal && a.usesStale == b.usesStale
                && a.retrieval.asksRemotes(like: b.retrieval)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(retrieval.target) }
}

/// The receiver of the request that finds out whether a remote is back. The answer changes its health.
private final class Probe: RemoteWaiter {
    static let shared = Probe()

    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool { true }

    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) {}
}
