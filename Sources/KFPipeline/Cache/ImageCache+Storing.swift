import KFImaging
import KFStorage
import KFTerms
import Synchronization

extension ImageCache {
    /// Stores an image in memory, without its pixels if they exceed the cost limit. Does nothing if the memory cache's
    /// count of removals is no longer `removals`.
    package func storeInMemory(
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
    package func keep(_ image: Image, of cached: CachedImage, _ key: EntryKey) {
        let isKept = memory.setCost(cached.cost(with: image), of: key) { $0 === cached }
        if isKept { cached.keep(image) }
    }

    /// Prepares bytes to be published under a key. Returns nil when there is no disk part, or when the image is already
    /// expired and is not to be kept stale. `digest` is the hash of the bytes, if it is known. Blocks.
    func order(
        _ bytes: PendingBytes, _ key: EntryKey, _ facts: consuming EntryFacts, digest: Digest? = nil
    ) throws(KingfisherError) -> Store? {
        guard facts.isKeptStale || !facts.expiration.isExpired(at: now) else { return nil }
        if configuration.verifies { facts.rewrites = true }
        guard let storage = try storage() else {
            if let error = storingError { throw error }
            return nil
        }
        if storage.isReadOnly {
            tellReadOnly(storage)
            return nil
        }
        let loaded: [UInt8]? = if case .staged = bytes { nil } else { try bytes.load() }
        do throws(StorageError) {
            if case .staged(let staged) = bytes { return try storage.prepare(staged, key, facts) }
            return try storage.prepare(loaded ?? [], digest, key, facts)
        } catch {
            throw KingfisherError(writing: error)
        }
    }

    /// Commits stores, each group as one transaction, and tells the receiver of each its outcome. `groups` has the places
    /// of theirs in `orders`.
    func submit(_ orders: [StoreOrder], _ groups: [Range<Int>], urgent: Bool) {
        guard let storage = alreadyOpen, !storage.isReadOnly else {
            return Turn.run { turn in for order in orders { order.end(.success(nil), &turn) } }
        }
        storage.store(orders.map(\.change), groups: groups, urgent: urgent) { outcomes in
            let directory = storage.directory
            Turn.run { turn in
                // By index: a copy of each order would retain all of its fields.
                for index in orders.indices {
                    switch outcomes[index] {
                    case .success(let entry):
                        orders[index].end(.success(entry.map { StoredFile($0, in: directory) }), &turn)
                    case .failure(let error): orders[index].end(.failure(KingfisherError(writing: error)), &turn)
                    }
                }
            }
        }
    }

    /// Publishes bytes under a key and waits for the commit.
    package func storeOnDisk(
        _ bytes: PendingBytes, _ key: EntryKey, _ facts: EntryFacts
    ) async throws(KingfisherError) -> StoredFile? {
        let change = try await blocking.run { [self] () throws(KingfisherError) in try order(bytes, key, facts) }
        guard let change else { return nil }
        let outcome: StoreOrder.Outcome = await withUnsafeContinuation { continuation in
            let order = StoreOrder(change, in: self, .call { outcome, _ in continuation.resume(returning: outcome) })
            submit([order], [0..<1], urgent: true)
        }
        return try outcome.get()
    }

    /// Evicts what exceeds the limit. A failure is reported later: the next store finds the cache over its limit again.
    func evict(_ storage: DiskStorage) { bestEffort { try storage.evictIfNeeded() } }

    /// Reports once that nothing can be stored, if the configuration allows writing.
    private func tellReadOnly(_ storage: DiskStorage) {
        guard configuration.access == .create else { return }
        let isNew = hasToldReadOnly.withLock { told in
            defer { told = true }
            return !told
        }
        if isNew { configuration.notice("\(storage.path) cannot be written to; nothing is cached") }
    }

    /// Returns the entry that its origin has confirmed, and the entries of `keys` with the same validators of the same
    /// URL, which the response confirms too. Blocks.
    func entries(confirmedWith entry: Entry, among keys: Set<EntryKey>) throws(KingfisherError) -> [Entry] {
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
            return CachedFile(file, entry: stored.entry)
        } catch {
            throw KingfisherError(reading: error)
        }
    }
}

extension ImageCache {
    /// The shortest time between two notices of the same error code, in milliseconds.
    private static let noticeInterval: Int64 = 60_000

    /// Reports an image that was delivered but could not be stored.
    func tellFailedStore(_ key: EntryKey, _ error: KingfisherError) {
        configuration.didFailToStore?(CacheStoreFailure(name: EntryName(key), error: error))
        let now = now
        let isNew = toldFailures.withLock { told in
            if let last = told[error.errorCode], (0..<Self.noticeInterval).contains(now.since(last)) { return false }
            told[error.errorCode] = now
            return true
        }
        if isNew { configuration.notice("an image was delivered but not stored: \(error.message)") }
    }
}
