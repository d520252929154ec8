import KFStorage

extension ImageCache {
    /// Whether it is worth asking for a body that broke off; looks once.
    var mayHavePartials: Bool {
        partials.withLock { known in
            if let known { return known }
            let found = writableStorage()?.hasPartials ?? false
            known = found
            return found
        }
    }

    func notePartial() { partials.withLock { $0 = true } }

    /// Evicts when partial bodies and images together exceed the limit. Blocks.
    func makeRoom() {
        guard let storage = writableStorage() else { return }
        // A failure here is reported later: the next store finds the limit exceeded and says why.
        _ = Result { () throws(StorageError) in
            try tellingCleaned { note throws(StorageError) in try storage.evictIfNeeded(note) }
        }
    }

    /// The same on another thread, unless that is under way.
    func makeRoomSoon() {
        guard !isMakingRoom.exchange(true, ordering: .acquiring) else { return }
        blocking.submit { [self] in
            makeRoom()
            isMakingRoom.store(false, ordering: .releasing)
        }
    }

    /// A file of the cache to write a large body into; nil when nothing can be stored. Blocks.
    func stage() throws(StorageError) -> StagedObject? {
        try writableStorage()?.stage()
    }

    /// A file with these bytes, ready to be published; nil when nothing can be stored. Blocks.
    func stage(_ bytes: [UInt8]) throws(StorageError) -> StagedObject? {
        guard let storage = writableStorage() else { return nil }
        return try bytes.withUnsafeBytes { bytes in
            Result { () throws(StorageError) in try storage.stage(bytes) }
        }.get()
    }

    /// The same for a body that can be resumed. To be called in flight for the key. Blocks.
    func beginPartial(for key: EntryKey, _ facts: PartialFacts) throws(StorageError) -> StagedObject? {
        try writableStorage()?.beginPartial(for: key, facts)
    }

    /// The partial body that an interrupted transfer left. Blocks.
    func takePartial(
        for key: EntryKey, request: Digest
    ) throws(StorageError) -> (object: StagedObject, facts: PartialFacts)? {
        try writableStorage()?.takePartial(for: key, request: request)
    }

    private func writableStorage() -> DiskStorage? {
        let opened = Result { () throws(KingfisherError) in try storage() }
        guard case .success(let storage?) = opened, !storage.isReadOnly else { return nil }
        return storage
    }
}
