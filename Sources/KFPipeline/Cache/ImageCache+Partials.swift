import KFStorage
import KFTerms

extension ImageCache {
    /// Whether there may be partial bodies. The directory is listed only once, and not before the cache is open: opening
    /// may wait for other processes, and the caller is a thread of Swift's pool.
    var mayHavePartials: Bool {
        partials.withLock { known in
            if let known { return known }
            if isUnopened { return true }
            let found = alreadyOpen.map { !$0.isReadOnly && $0.hasPartials } ?? false
            known = found
            return found
        }
    }

    func notePartial() { partials.withLock { $0 = true } }

    /// Evicts when partial bodies and images together exceed the limit. Blocks.
    func makeRoom() {
        if let storage = writableStorage() { evict(storage) }
    }

    /// Evicts on another thread, unless such an eviction is already running.
    func makeRoomSoon() {
        guard !isMakingRoom.exchange(true, ordering: .acquiring) else { return }
        blocking.submit { [self] in
            makeRoom()
            isMakingRoom.store(false, ordering: .releasing)
        }
    }

    /// Creates a staged file for a large body; nil when nothing can be stored. Blocks.
    func stage() throws(StorageError) -> StagedObject? {
        try writableStorage()?.stage()
    }

    /// Creates a staged file with these bytes, ready to be published; nil when nothing can be stored. Blocks.
    func stage(_ bytes: [UInt8]) throws(StorageError) -> StagedObject? {
        guard let storage = writableStorage() else { return nil }
        return try storage.stage(bytes)
    }

    /// The disk part, if something can be stored in it. Blocks.
    func writableStorage() -> DiskStorage? {
        guard let storage = bestEffort({ try storage() }) ?? nil, !storage.isReadOnly else { return nil }
        return storage
    }
}
