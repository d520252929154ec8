import KFImaging
import KFNetwork
import KFRemote
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// The identity of a remote look-up: calls with equal keys share it.
struct RemoteKey: Hashable, Sendable {
    let target: EntryKey
    let original: EntryKey
    let inspector: ImageInspector
    let maxBytes: Int64
    let caches: [ObjectIdentifier]
    /// The request headers that an image may vary with; empty when the policy does not regard them.
    let headers: [String]
    let isForTarget: Bool
    let usesStale: Bool
    let needsProof: Bool
}

/// The look-up of one image in the remotes, shared by all of its waiters: the entries of the image and of its original,
/// then the object of the one that can be used.
///
/// A worker takes the step out, and puts in the next one before anything can bring the read back to a worker.
final class RemoteRead: SharedWork, RemoteWaiter {
    /// An object that is read. A class, because an entry is wide.
    private final class Find: Sendable {
        /// Its entry; nil for the pinned object of a remote that has no entry for it.
        let entry: RemoteEntry?
        let object: Digest
        let key: EntryKey
        let remote: Remote
        /// Whether it is expired, so that its origin is asked whether it is still right.
        let isStale: Bool

        init(_ entry: RemoteEntry, _ key: EntryKey, _ remote: Remote, isStale: Bool = false) {
            self.entry = entry
            object = entry.object
            self.key = key
            self.remote = remote
            self.isStale = isStale
        }

        init(pinned object: Digest, _ key: EntryKey, _ remote: Remote) {
            entry = nil
            self.object = object
            self.key = key
            self.remote = remote
            isStale = false
        }
    }

    private enum Step {
        case nothing
        case entries(Remote)
        case room(Find)
        case object(Find)
        /// The store of an expired original, whose entry has members that kf does not know.
        case imported([StrictJSON.Member])
    }

    private struct Search {
        var step = Step.nothing
        /// The number of requests in flight, and what has arrived for them.
        var left = 0
        var entries: [[UInt8]] = [[], []]
        var answers: [CacheLayerAnswer] = [.absent, .absent]
        /// The object, as it arrives.
        var body = ArrivingBody()
        var remotes: ArraySlice<Remote>
        var tries = 0
        /// A stale original, for the case that no remote has a fresh image.
        var stale: Find?
        /// Whether a remote has an expired image. If the disk has it too, the read does not count as a miss.
        var hasExpired = false
        /// The part of the object that may be in memory, for which room is taken.
        var room: Int64?
        /// Whether an entry or object of the first remote was not what it should be, so that an upload replaces it.
        var isDamaged = false

        mutating func expect(_ count: Int, _ step: Step) {
            (self.step, left) = (step, count)
            (entries, answers) = ([[], []], [.absent, .absent])
        }
    }

    let key: WorkKey
    let table: WorkTable
    private let tier: RemoteTier
    private let retrieval: Retrieval
    private let usesStale: Bool
    private let isForTarget: Bool
    /// The names of the entries of the image and of its original, without repetition.
    private let names: [String]
    private let search: Mutex<Search>

    init(_ key: RemoteKey, _ tier: RemoteTier, _ retrieval: Retrieval, in table: WorkTable) {
        self.key = .remote(key)
        self.table = table
        self.tier = tier
        self.retrieval = retrieval
        usesStale = key.usesStale
        isForTarget = key.isForTarget
        names = (key.target == key.original ? [key.target] : [key.target, key.original]).map(RemoteEntry.name)
        search = Mutex(Search(remotes: tier.remotes[...]))
    }

    deinit { if let room = search.withLock({ $0.room }) { tier.room.change(bytes: -room, count: -1) } }

    static func start(_ reads: [RemoteRead]) {
        Turn.run { turn in StoreWorkers.shared.add(reads.filter { !$0.ask(&turn) }) }
    }

    func abandon() { for remote in tier.remotes { remote.giveUp(for: self) } }

    // MARK: The layer's side

    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool {
        search.withLock { search in
            guard case .object(let find) = search.step else {
                search.entries[index(of: request)].append(contentsOf: bytes)
                return true
            }
            retrieval.options.tally?.receivedFromRemote(bytes.count)
            return bestEffort { () throws(SinkError) in try search.body.receive(bytes, in: store(of: find)) } != nil
        }
    }

    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) {
        let answer = request.isTooLong ? .refusedBlob("it is too long") : answer
        let isLast = search.withLock { search in
            search.answers[index(of: request)] = answer
            search.left -= 1
            return search.left == 0
        }
        if isLast { StoreWorkers.shared.add([self]) }
    }

    private func index(of request: CacheLayerRequest) -> Int {
        request.kind == .entry && request.name != names[0] ? 1 : 0
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
        case .entries(let remote): arrived(entries, answers, of: remote, &turn)
        case .room(let find): readObject(find, &turn)
        case .object(let find): arrived(find, answers[0], &turn)
        case .imported(let members): end(.imported(members), &turn)
        }
    }

    private func askNext(_ turn: inout Turn) {
        if ask(&turn) { return }
        if let problem = tier.presentProblem { return end(.failed(problem), &turn) }
        let (stale, hasExpired) = search.withLock { search in
            defer { search.stale = nil }
            return (search.stale, search.hasExpired)
        }
        if let stale { return find(stale, &turn) }
        // Otherwise another look-up follows, for the original of several images.
        if !isForTarget, !hasExpired { tier.log.count(\.misses) }
        endWithout(&turn)
    }

    /// Adds the requests for the entries to the next remote. Returns false if there is none.
    private func ask(_ turn: inout Turn) -> Bool {
        guard tier.presentProblem == nil else { return false }
        while let remote = search.withLock({ $0.remotes.popFirst() }) {
            switch remote.admitLookUp() {
            case .skip: continue
            case .probe where !tier.isRequired:
                turn.requests.append(CacheLayerRequest(.check, .entry, names[0], of: remote, for: Probe.shared))
            case .ask, .probe:
                search.withLock { $0.expect(names.count, .entries(remote)) }
                for name in names {
                    turn.requests.append(
                        CacheLayerRequest(
                            .read, .entry, name, limit: Int64(RemoteEntry.longest), of: remote, for: self))
                }
                return true
            }
        }
        return false
    }

    private func arrived(
        _ entries: [[UInt8]], _ answers: [CacheLayerAnswer], of remote: Remote, _ turn: inout Turn
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
        if let usable = choose(found, of: remote) { return find(usable, &turn) }
        if !hasFailed, !isForTarget, let object = retrieval.pin?.digest {
            return find(Find(pinned: object, retrieval.original, remote), &turn)
        }
        if hasFailed, triesAgain() { search.withLock { $0.remotes = [remote] + $0.remotes } }
        askNext(&turn)
    }

    /// Whether a request that failed is made again: where the remote is required, until it counts as dead.
    private func triesAgain() -> Bool {
        let tries = search.withLock { search in
            search.tries += 1
            return search.tries
        }
        return tier.isRequired && tries <= RemoteHealth.mostFailures && tier.presentProblem == nil
    }

    private func choose(_ found: [RemoteEntry?], of remote: Remote) -> Find? {
        guard let choice = retrieval.choice(of: found) else { return nil }
        if isForTarget, choice.key != retrieval.target {
            // The original is read for all images of it, which the other remotes may have made from other bytes.
            if !choice.isStale { search.withLock { $0.remotes = [] } }
            return nil
        }
        let find = Find(choice.entry, choice.key, remote, isStale: choice.isStale)
        guard choice.isStale else { return find }
        search.withLock { search in
            search.hasExpired = true
            if usesStale { search.stale = search.stale ?? find }
        }
        return nil
    }

    private func find(_ find: Find, _ turn: inout Turn) {
        let share = min(find.entry?.size ?? .max, Int64(ArrivingBody.memoryLimit))
        let hasRoom = search.withLock { search in
            search.step = .room(find)
            defer { search.room = search.room ?? share }
            return search.room != nil
        }
        if hasRoom || tier.room.reserve(share, for: self) { readObject(find, &turn) }
    }

    /// Reads the object from the disk cache if it has it, else from the remote.
    private func readObject(_ find: Find, passingOverCache: Bool = false, _ turn: inout Turn) {
        begin(find)
        if !passingOverCache, find.entry != nil {
            // If the cached object cannot be copied, the remote serves it.
            if bestEffort({ try copy(find) }) == true { return check(find, isLocal: true, &turn) }
            begin(find)
        }
        search.withLock { $0.expect(1, .object(find)) }
        turn.requests.append(
            CacheLayerRequest(
                .read, .object, find.object.hex, limit: find.entry?.size ?? retrieval.options.request.maxBytes,
                of: find.remote, for: self))
    }

    /// Copies the object from the disk cache. Returns false if there is no such object of this size. Blocks.
    private func copy(_ find: Find) throws -> Bool {
        guard let storage = place(of: find).alreadyOpen, let file = try storage.openObject(find.object),
            try Int64(file.status().st_size) == find.entry?.size
        else { return false }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 64)
        defer { buffer.deallocate() }
        while true {
            let count = try file.read(into: buffer)
            if count == 0 { return true }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            try search.withLock { search throws(SinkError) in try search.body.receive(bytes, in: store(of: find)) }
        }
    }

    private func place(of find: Find) -> ImageCache {
        find.key == retrieval.target && !find.isStale ? retrieval.cache : retrieval.originals
    }

    /// Where the file of an object is written, if it has one.
    private func store(of find: Find) -> BodyStore? {
        retrieval.options.cacheMemoryOnly ? nil : BodyStore(cache: place(of: find), key: find.key.source)
    }

    /// Begins to receive an object, and drops what has arrived of one.
    private func begin(_ find: Find) {
        let head = ResponseHead(status: 200, framing: find.entry.map { .length($0.size) } ?? .untilClose)
        search.withLock { $0.body.begin(head, in: store(of: find)) }
    }

    private func arrived(_ find: Find, _ answer: CacheLayerAnswer, _ turn: inout Turn) {
        var hasFailed = false
        switch answer {
        case .done, .exists, .locked: return check(find, isLocal: false, &turn)
        case .absent:
            if let entry = find.entry {
                noteDamage("an entry whose image is missing", .entry, entry.name, find.remote)
            }
        case .refusedBlob:
            noteDamage("an image that cannot be used", .object, find.object.hex, find.remote)
        case .failed, .refused, .busy:
            tier.log.count(\.errors)
            hasFailed = true
        }
        letGo()
        if hasFailed, triesAgain() { return self.find(find, &turn) }
        askNext(&turn)
    }

    /// Delivers the object, if it is what its entry says.
    private func check(_ find: Find, isLocal: Bool, _ turn: inout Turn) {
        let (entry, place) = (find.entry, place(of: find))
        var inspector = retrieval.box.inspector
        // The image may be made of what the filter is for.
        inspector.filter = nil
        do throws(KingfisherError) {
            let body = try search.withLock { search throws(KingfisherError) in try search.body.close() }
            var bytes = body
            // The hash of the file serves for the check too. If the bytes cannot be staged, the store reports why.
            if case .memory(let inMemory) = body, !retrieval.options.cacheMemoryOnly, !retrieval.usesMemory,
                let staged = try? place.stage(inMemory)
            {
                bytes = .staged(staged)
            }
            let findings = try body.checked(by: inspector, find.object, as: entry, digest: try bytes.digest())
            tier.log.count(\.hits)
            if find.isStale, let entry { return try importStale(bytes, findings, entry, &turn) }
            let way: RetrievalWay = entry == nil ? .pinned : .remote
            Body(bytes, findings, of: self, entry: entry, way: way).deliver(of: self, &turn)
        } catch {
            letGo()
            if error.isCacheFailure { return end(.failed(error), &turn) }
            // The cached file was damaged, not the remote's.
            if isLocal {
                place.alreadyOpen?.distrust(find.object)
                return readObject(find, passingOverCache: true, &turn)
            }
            noteDamage("an image that is not what its entry says", .object, find.object.hex, find.remote)
            askNext(&turn)
        }
    }

    private func letGo() { search.withLock { _ = $0.body.end(keeping: false, in: nil) } }

    private func noteDamage(_ what: String, _ kind: CacheLayerRequest.Kind, _ name: String, _ remote: Remote) {
        tier.log.noteDamage(what, at: remote.layer.location(of: kind, name), of: remote.name)
        if remote === tier.remotes.first { search.withLock { $0.isDamaged = true } }
    }

    /// Stores an expired original, so that the look-up finds it as one of its own.
    private func importStale(
        _ bytes: PendingBytes, _ findings: ImageInspector.Findings, _ entry: RemoteEntry, _ turn: inout Turn
    ) throws(KingfisherError) {
        let cache = retrieval.originals
        var facts = retrieval.facts(
            format: findings.format, pixels: findings.info.map(PixelFacts.init), origin: retrieval.origin(of: entry),
            original: nil, now: retrieval.now)
        facts.isKeptStale = true
        guard let change = try cache.order(bytes, retrieval.original, facts) else { return endWithout(&turn) }
        search.withLock { $0.step = .imported(entry.unknown) }
        turn.beginStores(urgent: !retrieval.options.batchesStores)
        turn.store(StoreOrder(change, in: cache, .call { [self] _, _ in StoreWorkers.shared.add([self]) }))
    }

    private func endWithout(_ turn: inout Turn) {
        end(.absent(isDamaged: search.withLock { $0.isDamaged }), &turn)
    }

    private func end(_ answer: Answer, _ turn: inout Turn) {
        table.deliver(answer, of: self, &turn)
    }
}

/// The receiver of the request that finds out whether a remote is back. The answer changes its health.
private final class Probe: RemoteWaiter {
    static let shared = Probe()

    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool { true }

    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) {}
}
