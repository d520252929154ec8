import KFImaging
import KFStorage
import Synchronization

extension ImageCache {
    /// Stores an image in memory, without its pixels if they exceed the cost limit. Does nothing if the memory cache's
    /// count of removals is no longer `removals`.
    func storeInMemory(
        _ cached: CachedImage, _ key: EntryKey, expiration: StorageExpiration?,
        unlessRemovedSince removals: UInt64? = nil
    ) {
        let image = cached.image
        let isKept = memory.store(
            cached, for: key, cost: cached.cost(with: image), expiration: expiration, unlessRemovedSince: removals)
        guard !isKept, image != nil, let encoded = cached.encoded else { return }
        memory.store(
            encoded, for: key, cost: encoded.cost(with: nil), expiration: expiration, unlessRemovedSince: removals)
    }

    /// Keeps the pixels of an image that is in memory, if they fit within the cost limit.
    func keep(_ image: Image, of cached: CachedImage, _ key: EntryKey) {
        let isKept = memory.setCost(cached.cost(with: image), of: key) { $0 === cached }
        if isKept { cached.keep(image) }
    }

    /// Prepares bytes to be published under a key. Returns nil when there is no disk part, or when the image is already
    /// expired and is not to be kept stale. Blocks.
    func order(
        _ bytes: PendingBytes, _ key: EntryKey, _ facts: EntryFacts
    ) throws(KingfisherError) -> IndexOrder? {
        guard facts.isKeptStale || !facts.expiration.isExpired(at: now) else { return nil }
        var facts = facts
        if configuration.verifies { facts.rewrites = true }
        let evictions = alreadyOpen?.evictionCount ?? 0
        do {
            return try change(bytes, key, facts)
        } catch .cacheError(reason: .diskIsFull(let detail)) {
            guard try makeRoom(since: evictions) else { throw .cacheError(reason: .diskIsFull(detail: detail)) }
            return try change(bytes, key, facts)
        }
    }

    /// Commits the orders, each group as one transaction, and completes each order with its outcome. On a full disk, a
    /// cache above its limit evicts first.
    func submit(_ groups: [[StoreOrder]], urgent: Bool) {
        guard let storage = alreadyOpen, !storage.isReadOnly else {
            return end(groups, groups.map { $0.map { _ in .success(nil) } })
        }
        let evictions = storage.evictionCount
        storage.submit(groups.map { $0.map(\.change) }, urgent: urgent) { [self] results in
            let isFull = results.contains { group in
                group.contains { if case .failure(let error) = $0 { error.isDiskFull } else { false } }
            }
            guard isFull || storage.isOverLimit else { return end(groups, outcomes(results, storage)) }
            blocking.submit { [self] in
                if storage.isOverLimit { evict(storage) }
                guard isFull, retry(groups, results, storage, since: evictions, urgent: urgent) else {
                    return end(groups, outcomes(results, storage))
                }
            }
        }
    }

    /// Tries the orders again that found the disk full. Returns false when no room could be made.
    private func retry(
        _ groups: [[StoreOrder]], _ results: [[Result<Entry?, StorageError>]], _ storage: DiskStorage,
        since evictions: Int, urgent: Bool
    ) -> Bool {
        guard case .success(true) = Result(catching: { () throws(KingfisherError) in try makeRoom(since: evictions) })
        else { return false }
        var places: [(group: Int, order: Int)] = []
        for (group, results) in results.enumerated() {
            for (order, result) in results.enumerated() {
                if case .failure(let error) = result, error.isDiskFull { places.append((group, order)) }
            }
        }
        let again = places
        storage.submit(again.map { [groups[$0.group][$0.order].change] }, urgent: urgent) { [self] newer in
            var results = results
            for (place, result) in zip(again, newer) { results[place.group][place.order] = result[0] }
            end(groups, outcomes(results, storage))
        }
        return true
    }

    private func outcomes(
        _ results: [[Result<Entry?, StorageError>]], _ storage: DiskStorage
    ) -> [[StoreOrder.Outcome]] {
        results.map { group in
            group.map { result in
                switch result {
                case .success(let entry): .success(entry.map { StoredFile($0, in: storage) })
                case .failure(let error): .failure(KingfisherError(writing: error))
                }
            }
        }
    }

    private func end(_ groups: [[StoreOrder]], _ outcomes: [[StoreOrder.Outcome]]) {
        var deliveries = Deliveries()
        for (group, outcomes) in zip(groups, outcomes) {
            for (order, outcome) in zip(group, outcomes) {
                for case let job as ImageJob in order.end(outcome) { job.stages.conclude(job, &deliveries) }
            }
        }
        deliveries.flush()
    }

    /// Publishes bytes under a key and waits for the commit.
    func storeOnDisk(
        _ bytes: PendingBytes, _ key: EntryKey, _ facts: EntryFacts
    ) async throws(KingfisherError) -> StoredFile? {
        let change = try await blocking.run { [self] () throws(KingfisherError) in try order(bytes, key, facts) }
        guard let change else { return nil }
        let outcome: StoreOrder.Outcome = await withUnsafeContinuation { continuation in
            submit([[StoreOrder(change, whenDone: { continuation.resume(returning: $0) })]], urgent: true)
        }
        return try outcome.get()
    }

    /// Evicts on a full disk if the cache is above its limit. Returns whether storing is worth another try.
    private func makeRoom(since evictions: Int) throws(KingfisherError) -> Bool {
        guard let storage = alreadyOpen else { return false }
        do throws(StorageError) {
            var isWorthwhile = false
            _ = try tellingCleaned { note throws(StorageError) in
                let made = try storage.makeRoom(since: evictions, note)
                isWorthwhile = made.isWorthwhile
                return made.removal
            }
            return isWorthwhile
        } catch {
            throw KingfisherError(writing: error)
        }
    }

    /// Evicts what exceeds the limit. A failure is reported later: the next store finds the cache over its limit again.
    func evict(_ storage: DiskStorage) {
        bestEffort { try tellingCleaned { note throws(StorageError) in try storage.evictIfNeeded(note) } }
    }

    /// Reports once that nothing can be stored, if the configuration allows writing.
    private func tellReadOnly(_ storage: DiskStorage) {
        guard configuration.access == .create else { return }
        let isNew = hasToldReadOnly.withLock { told in
            defer { told = true }
            return !told
        }
        if isNew { configuration.notice("\(storage.path) cannot be written to; nothing is cached") }
    }

    private func change(
        _ bytes: PendingBytes, _ key: EntryKey, _ facts: EntryFacts
    ) throws(KingfisherError) -> IndexOrder? {
        guard let storage = try storage() else {
            if let error = storingError { throw error }
            return nil
        }
        if storage.isReadOnly {
            tellReadOnly(storage)
            return nil
        }
        do {
            switch bytes {
            case .staged(let staged):
                try storage.settle(staged)
                return .store(staged, key, facts)
            case .memory(let bytes): return try storage.order(bytes, key, facts)
            }
        } catch {
            throw KingfisherError(writing: error)
        }
    }

    /// Returns the entry that its origin has confirmed, and the entries of `keys` with the same validators of the same
    /// URL, which the response confirms too. Blocks.
    func entries(confirmedWith entry: Entry, among keys: [EntryKey]) throws(KingfisherError) -> [Entry] {
        let others = try withStorage(failing: KingfisherError.init(writing:)) { storage throws(StorageError) in
            var others: [Entry] = []
            for key in keys {
                guard let other = try storage.entry(for: key), other.etag == entry.etag,
                    other.lastModified == entry.lastModified,
                    HeaderLines(other.freshness).place == HeaderLines(entry.freshness).place
                else { continue }
                others.append(other)
            }
            return others
        }
        return [entry] + (others ?? [])
    }

    /// Opens a stored file; nil when it has been evicted or damaged. Blocks.
    func open(_ stored: StoredFile) throws(KingfisherError) -> CachedFile? {
        guard let storage = try storage() else { return nil }
        do throws(StorageError) {
            guard let file = try storage.open(stored.entry) else { return nil }
            let path = file.path
            return CachedFile(file, entry: stored.entry, path: path)
        } catch {
            throw KingfisherError(reading: error)
        }
    }
}
