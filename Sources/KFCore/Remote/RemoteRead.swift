import KFImaging
import KFNetwork
import KFStorage
import Synchronization

/// The look-up of one image in the remotes, shared by all of its waiters: the entries of the image and of its original,
/// then the object of the one that can be used.
///
/// `@unchecked Sendable`, because one worker at a time owns it. What arrives meanwhile is under the lock.
final class RemoteRead: WorkInFlight, StoreWork, RemoteWaiter, @unchecked Sendable {
    private enum Step { case ask, entries, object, room, imported }

    /// The answers to the requests in flight.
    private struct Arrivals {
        var left = 0
        var entries: [[UInt8]] = [[], []]
        var answers: [CacheLayerAnswer] = [.absent, .absent]
    }

    /// The entry whose object is read.
    private struct Find {
        let entry: RemoteEntry
        let key: EntryKey
        let remote: Remote
        /// Whether it is expired, so that its origin is asked whether it is still right.
        var isStale = false
    }

    private let tier: RemoteTier
    private let retrieval: Retrieval
    private let usesStale: Bool
    /// The names of the entries of the image and of its original, without repetition.
    private let names: [String]
    private var step = Step.ask
    /// The index of the next remote.
    private var next = 0
    private var asked: Remote?
    private var tries = 0
    private var find: Find?
    /// A stale original, for the case that no remote has a fresh image.
    private var stale: Find?
    private var sink: BodySink?
    /// Whether the object was read from the disk cache.
    private var isLocal = false
    /// The size of the object for which room is taken.
    private var taken: Int64?
    /// Whether an entry or object of the first remote was not what it should be, so that an upload replaces it.
    private var isDamaged = false
    private let arrivals = Mutex(Arrivals())

    init(_ key: RemoteKey, _ tier: RemoteTier, _ retrieval: Retrieval, in table: WorkTable, for first: any WorkWaiter) {
        self.tier = tier
        self.retrieval = retrieval
        usesStale = key.usesStale
        names = (key.target == key.original ? [key.target] : [key.target, key.original]).map(RemoteEntry.name)
        super.init(.remote(key), in: table, for: first)
    }

    deinit { if let taken { tier.room.release(taken) } }

    /// Starts look-ups together.
    static func start(_ reads: [RemoteRead]) {
        var requests = BatchStarts()
        var ended: [any StoreWork] = []
        for read in reads where !read.ask(&requests) { ended.append(read) }
        requests.flush()
        StoreWorkers.shared.add(ended)
    }

    override func abandon() { for remote in tier.remotes { remote.giveUp(for: self) } }

    // MARK: The layer's side

    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool {
        if request.kind == .entry {
            arrivals.withLock { $0.entries[index(of: request)].append(contentsOf: bytes) }
            return true
        }
        let written = Result { () throws(SinkError) in try sink?.receive(bytes) }
        if case .success = written { return true }
        return false
    }

    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) -> (any StoreWork)? {
        let isLast = arrivals.withLock { arrivals in
            arrivals.answers[index(of: request)] = request.isTooLong ? .refusedBlob("it is too long") : answer
            arrivals.left -= 1
            return arrivals.left == 0
        }
        return isLast ? self : nil
    }

    private func index(of request: CacheLayerRequest) -> Int {
        request.kind == .entry && request.name != names[0] ? 1 : 0
    }

    // MARK: Steps

    func run(in batch: StoreBatch) {
        guard table.isWanted(self) else { return }
        switch step {
        case .ask: askNext(batch)
        case .entries: takeEntries(batch)
        case .room: readObject(batch)
        case .object: takeObject(batch)
        case .imported: end(.success(.imported(find?.entry.unknown ?? [])), batch)
        }
    }

    private func askNext(_ batch: StoreBatch) {
        if ask(&batch.starts) { return }
        if let problem = tier.presentProblem { return end(.failure(problem), batch) }
        guard let stale else {
            // Otherwise another look-up follows, for the original of several images.
            if !isForTarget { tier.log.count(\.misses) }
            return end(.success(.absent(isDamaged: isDamaged)), batch)
        }
        self.stale = nil
        find(stale, batch)
    }

    /// Adds the requests for the entries to the next remote. Returns false if there is none.
    private func ask(_ requests: inout BatchStarts) -> Bool {
        guard tier.presentProblem == nil else { return false }
        while next < tier.remotes.count {
            let remote = tier.remotes[next]
            next += 1
            switch remote.admitLookUp() {
            case .skip: continue
            case .probe where !tier.isRequired:
                requests.add(
                    CacheLayerRequest(.check, .entry, names[0], of: remote, for: Probe.shared), to: remote)
            case .ask, .probe:
                step = .entries
                asked = remote
                arrivals.withLock { $0 = Arrivals(left: names.count) }
                for name in names {
                    requests.add(
                        CacheLayerRequest(
                            .read, .entry, name, limit: Int64(RemoteEntry.longest), of: remote, for: self),
                        to: remote)
                }
                return true
            }
        }
        return false
    }

    private func takeEntries(_ batch: StoreBatch) {
        guard let remote = asked else { return }
        let arrived = arrivals.withLock { $0 }
        var found: [RemoteEntry?] = []
        var hasFailed = false
        for (index, name) in names.enumerated() {
            var entry: RemoteEntry?
            switch arrived.answers[index] {
            case .done:
                entry = RemoteEntry(arrived.entries[index], name: name)
                if entry == nil { noteDamage("an entry that cannot be used", .entry, name, remote) }
            case .refusedBlob: noteDamage("an entry that cannot be used", .entry, name, remote)
            case .busy: tier.log.count(\.errors)
            case .failed, .refused:
                tier.log.count(\.errors)
                hasFailed = true
            case .absent, .exists, .locked: break
            }
            found.append(entry.flatMap { accepts($0) ? $0 : nil })
        }
        if let usable = choose(found, of: remote) { return find(usable, batch) }
        if hasFailed, triesAgain() { next -= 1 }
        askNext(batch)
    }

    /// Whether a request that failed is made again: where the remote is required, until it counts as dead.
    private func triesAgain() -> Bool {
        tries += 1
        return tier.isRequired && tries <= RemoteHealth.mostFailures && tier.presentProblem == nil
    }

    private func accepts(_ entry: RemoteEntry) -> Bool {
        entry.size <= retrieval.options.request.maxBytes && retrieval.accepts(entry.freshness.map { HeaderLines($0) })
    }

    /// Returns the entry to use: the image itself, if it was made from the original that the remote has, or the original.
    private func choose(_ found: [RemoteEntry?], of remote: Remote) -> Find? {
        let now = retrieval.cache.now
        let original = names.count == 1 ? found[0] : found[1]
        if names.count == 2, let target = found[0], !retrieval.isExpired(target, at: now), let source = target.original,
            original.map({ $0.object == source }) ?? true
        {
            return Find(entry: target, key: retrieval.target, remote: remote)
        }
        guard let original, !isForTarget, original.original == nil else { return nil }
        let find = Find(entry: original, key: retrieval.original, remote: remote)
        guard retrieval.isExpired(original, at: now) else { return find }
        // Without a validator the origin sends the image again in any case.
        if usesStale, stale == nil, !retrieval.options.cacheMemoryOnly,
            retrieval.condition(of: original) != nil
        {
            stale = Find(entry: original, key: retrieval.original, remote: remote, isStale: true)
        }
        return nil
    }

    private var isForTarget: Bool { if case .remote(let key) = key { key.isForTarget } else { false } }

    private func find(_ find: Find, _ batch: StoreBatch) {
        self.find = find
        step = .room
        if taken == nil {
            let size = find.entry.size
            taken = size
            guard tier.room.take(size, for: self) else { return }
        }
        readObject(batch)
    }

    /// Reads the object from the disk cache if it has it, else from the remote.
    private func readObject(_ batch: StoreBatch) {
        guard let find else { return }
        step = .object
        let cache = place(of: find)
        if !isLocal, let sink = sink(for: find),
            case .success(true) = Result(catching: { () throws(StorageError) in
                try cache.copyObject(find.entry.object, of: find.entry.size, to: sink)
            })
        {
            isLocal = true
            self.sink = sink
            arrivals.withLock { $0 = Arrivals(answers: [.done, .absent]) }
            return takeObject(batch)
        }
        isLocal = false
        sink = sink(for: find)
        arrivals.withLock { $0 = Arrivals(left: 1) }
        batch.starts.add(
            CacheLayerRequest(
                .read, .object, find.entry.object.hex, limit: find.entry.size, of: find.remote, for: self),
            to: find.remote)
    }

    /// Returns the cache that the object belongs to.
    private func place(of find: Find) -> ImageCache {
        find.key == retrieval.target ? retrieval.cache : retrieval.originals
    }

    private func sink(for find: Find) -> BodySink? {
        let store =
            retrieval.options.cacheMemoryOnly ? nil : BodyStore(cache: place(of: find), key: find.key.source)
        let sink = BodySink(store, url: "", request: { [object = find.entry.object] in object }, resumed: nil)
        let begun = Result { () throws(SinkError) in
            try sink.begin(ResponseHead(status: 200, framing: .length(find.entry.size)))
        }
        if case .success = begun { return sink }
        return nil
    }

    private func takeObject(_ batch: StoreBatch) {
        guard let find, let sink else { return }
        self.sink = nil
        switch arrivals.withLock({ $0.answers[0] }) {
        case .done, .exists, .locked: break
        case .absent:
            sink.end(keeping: false)
            noteDamage("an entry whose image is missing", .entry, find.entry.name, find.remote)
            return askNext(batch)
        case .refusedBlob:
            sink.end(keeping: false)
            noteDamage("an image of another length than its entry says", .object, find.entry.object.hex, find.remote)
            return askNext(batch)
        case .failed, .refused, .busy:
            sink.end(keeping: false)
            tier.log.count(\.errors)
            if triesAgain() { return self.find(find, batch) }
            return askNext(batch)
        }
        do throws(KingfisherError) {
            let (bytes, findings) = try verified(sink, find)
            tier.log.count(\.hits)
            if find.isStale { return try importStale(bytes, findings, find, batch) }
            let image = DownloadedImage(
                bytes, findings, response: nil, flight: nil, orders: OrderBook(self), entry: find.entry)
            table.deliver(.download(.success(.image(image))), of: self, in: batch)
            image.release()
        } catch {
            sink.end(keeping: false)
            if error.isCacheFailure { return end(.failure(error), batch) }
            // The cached file was damaged, not the remote's.
            if isLocal {
                place(of: find).alreadyOpen?.distrust(find.entry.object)
                return readObject(batch)
            }
            noteDamage("an image that is not what its entry says", .object, find.entry.object.hex, find.remote)
            askNext(batch)
        }
    }

    private func noteDamage(_ what: String, _ kind: CacheLayerRequest.Kind, _ name: String, _ remote: Remote) {
        tier.log.noteDamage(what, at: remote.layer.location(of: kind, name), of: remote.name)
        if remote === tier.remotes.first { isDamaged = true }
    }

    /// Returns the bytes of the object, if they have its digest and are a whole image.
    private func verified(
        _ sink: BodySink, _ find: Find
    ) throws(KingfisherError) -> (PendingBytes, ImageInspector.Findings) {
        let body: PendingBytes
        do throws(StorageError) { body = try sink.finish(synchronize: false) } catch {
            throw KingfisherError(writing: error)
        }
        let entry = find.entry
        var bytes = body
        let digest: Digest?
        switch body {
        case .staged(let staged): digest = staged.digest
        case .memory(let inMemory):
            // The hash of the file serves for the verification too. If it cannot be staged, the store reports why.
            let staged =
                retrieval.options.cacheMemoryOnly || retrieval.usesMemory
                ? nil : try? place(of: find).stage(inMemory)
            digest = staged?.digest ?? inMemory.withUnsafeBytes { SHA256.hash($0) }
            if let staged { bytes = .staged(staged) }
        }
        guard bytes.size == entry.size, digest == entry.object else {
            throw .responseError(reason: .damagedImage(detail: "its hash differs"))
        }
        let findings: ImageInspector.Findings
        do {
            findings = try body.withBytes { bytes, passage throws(KingfisherError) in
                try retrieval.box.inspector.inspect(bytes, passage: passage)
            }
        } catch let error as KingfisherError {
            throw error
        } catch let error as StorageError {
            throw KingfisherError(reading: error)
        } catch {
            preconditionFailure("neither storage nor inspection: \(error)")
        }
        guard findings.format.rawValue == entry.format else {
            throw .responseError(reason: .damagedImage(detail: "its format differs"))
        }
        return (bytes, findings)
    }

    /// Stores an expired original, so that the look-up finds it as one of its own.
    private func importStale(
        _ bytes: PendingBytes, _ findings: ImageInspector.Findings, _ find: Find, _ batch: StoreBatch
    ) throws(KingfisherError) {
        let cache = retrieval.originals
        var facts = retrieval.facts(
            format: findings.format, pixels: findings.info.map(PixelFacts.init),
            origin: retrieval.origin(of: find.entry),
            original: nil, now: cache.now)
        facts.isKeptStale = true
        step = .imported
        guard let change = try cache.order(bytes, find.key, facts) else {
            return end(.success(.absent(isDamaged: isDamaged)), batch)
        }
        batch.add(
            [StoreOrder(change) { [self] _ in StoreWorkers.shared.add([self]) }], to: cache,
            urgent: !retrieval.options.batchesStores)
    }

    private func end(_ result: Result<DownloadAnswer, KingfisherError>, _ batch: StoreBatch) {
        table.end(self, with: .download(result), in: batch)
    }
}

/// The receiver of the request that finds out whether a remote is back. The answer changes its health.
private final class Probe: RemoteWaiter {
    static let shared = Probe()

    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool { true }

    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) -> (any StoreWork)? { nil }
}
