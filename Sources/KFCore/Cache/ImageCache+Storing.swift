import KFImaging
import KFStorage

extension ImageCache {
    func storeInMemory(_ cached: CachedImage, _ key: EntryKey, expiration: StorageExpiration?) {
        memory.store(cached, for: key, cost: cached.cost, expiration: expiration)
    }

    /// Publishes bytes under a key. Nil when there is no disk part, or nothing is to be kept: also of what was made from
    /// an original that has been replaced meanwhile. `prepared` is the bytes as a file of this cache, if somebody made that
    /// already.
    func storeOnDisk(
        _ bytes: PendingBytes, prepared: StagedObject? = nil, _ key: EntryKey, _ facts: EntryFacts, urgent: Bool
    ) async throws(KingfisherError) -> StoredFile? {
        let evictions = alreadyOpen?.evictionCount ?? 0
        do {
            return try await storeOnce(bytes, prepared: prepared, key, facts, urgent: urgent)
        } catch .cacheError(reason: .diskIsFull(let detail)) {
            guard try await makeRoom(since: evictions) else { throw .cacheError(reason: .diskIsFull(detail: detail)) }
            return try await storeOnce(bytes, prepared: prepared, key, facts, urgent: urgent)
        }
    }

    /// On a full disk a cache above its limit gives way. True when storing is worth another try.
    private func makeRoom(since evictions: Int) async throws(KingfisherError) -> Bool {
        guard let storage = alreadyOpen else { return false }
        do throws(StorageError) {
            return try await blocking.run { [self] () throws(StorageError) in
                var isWorthwhile = false
                _ = try tellingCleaned { note throws(StorageError) in
                    let made = try storage.makeRoom(since: evictions, note)
                    isWorthwhile = made.isWorthwhile
                    return made.removal
                }
                return isWorthwhile
            }
        } catch {
            throw KingfisherError(writing: error)
        }
    }

    private func storeOnce(
        _ bytes: PendingBytes, prepared: StagedObject?, _ key: EntryKey, _ facts: EntryFacts, urgent: Bool
    ) async throws(KingfisherError) -> StoredFile? {
        guard facts.isKeptStale || !facts.expiration.isExpired(at: configuration.clock.now()) else { return nil }
        let staged: (DiskStorage, StagedObject)?
        if let storage = alreadyOpen, let prepared {
            staged = (storage, prepared)
        } else {
            staged = try await blocking.run { [self] () throws(KingfisherError) in try stagedForStoring(bytes) }
        }
        guard let (storage, object) = staged else { return nil }
        do throws(StorageError) {
            return try await healing(storage) { () async throws(StorageError) in
                guard let entry = try await storage.store(object, for: key, facts, urgent: urgent) else { return nil }
                if storage.isOverLimit { try await evict(storage) }
                return StoredFile(entry, in: storage)
            }
        } catch {
            throw KingfisherError(writing: error)
        }
    }

    /// As `DiskStorage.healing`, for what does not block.
    private func healing<Value>(
        _ storage: DiskStorage, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        let number = storage.indexNumber
        do {
            return try await body()
        } catch .corruptIndex(let path, let detail) {
            let isHealed = try await blocking.run { () throws(StorageError) in try storage.heal(index: number) }
            guard isHealed else { throw .corruptIndex(path: path, detail: detail) }
            return try await body()
        }
    }

    private func evict(_ storage: DiskStorage) async throws(StorageError) {
        do throws(StorageError) {
            _ = try await blocking.run { [self] () throws(StorageError) in
                try tellingCleaned { note throws(StorageError) in try storage.evictIfNeeded(note) }
            }
        } catch let error where error.isLocked {
            // The image is stored; the next store finds the cache over its limit again.
        }
    }

    /// Once, and not to those who wanted it so.
    private func tellReadOnly(_ storage: DiskStorage) {
        guard configuration.access == .create else { return }
        let isNew = hasToldReadOnly.withLock { told in
            defer { told = true }
            return !told
        }
        if isNew { configuration.notice("\(storage.path) cannot be written to; nothing is cached") }
    }

    private func stagedForStoring(
        _ bytes: PendingBytes
    ) throws(KingfisherError) -> (DiskStorage, StagedObject)? {
        guard let storage = try storage() else {
            if let error = storingError { throw error }
            return nil
        }
        if storage.isReadOnly {
            tellReadOnly(storage)
            return nil
        }
        switch bytes {
        case .staged(let staged):
            do { try storage.settle(staged) } catch { throw KingfisherError(writing: error) }
            return (storage, staged)
        case .memory(let bytes):
            do {
                return try stage(bytes).map { (storage, $0) }
            } catch {
                throw KingfisherError(writing: error)
            }
        }
    }

    /// The origin has confirmed an entry: makes it fresh again, and with it the entries under `others` that came by the
    /// same response. False when it has been removed or replaced meanwhile.
    func renew(
        _ entry: Entry, others: [EntryKey], _ renewal: EntryRenewal, urgent: Bool
    ) async throws(KingfisherError) -> Bool {
        guard let storage = alreadyOpen, !storage.isReadOnly else { return true }
        do throws(StorageError) {
            return try await healing(storage) { () async throws(StorageError) in
                let entries = try await blocking.run { () throws(StorageError) in
                    var entries = [entry]
                    for key in others {
                        guard let other = try storage.entry(for: key) else { continue }
                        if other.etag == entry.etag, other.lastModified == entry.lastModified { entries.append(other) }
                    }
                    return entries
                }
                return try await storage.renew(entries, renewal, urgent: urgent)[0] != nil
            }
        } catch {
            throw KingfisherError(writing: error)
        }
    }

    /// Opens what was stored; nil if it is gone again.
    func open(_ stored: StoredFile) async throws(KingfisherError) -> CachedFile? {
        try await blocking.run { [self] () throws(KingfisherError) -> CachedFile? in
            guard let storage = try storage() else { return nil }
            do throws(StorageError) {
                guard let file = try storage.open(stored.entry) else { return nil }
                return CachedFile(file, entry: stored.entry, path: stored.path)
            } catch {
                throw KingfisherError(reading: error)
            }
        }
    }

    /// The disk part if there is one. Opening blocks, what is open comes at once.
    func openedStorage() async throws(KingfisherError) -> DiskStorage? {
        if let storage = alreadyOpen { return storage }
        return try await blocking.run { [self] () throws(KingfisherError) in try storage() }
    }
}
