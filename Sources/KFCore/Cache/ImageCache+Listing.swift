import KFStorage

extension ImageCache {
    /// Hands out what is on the disk, expired or not, in bounded memory; `body` says whether to go on, and is called on a
    /// thread of the cache's own. Of a million entries the first 20 come in some ten milliseconds. False when there is no
    /// cache yet.
    public func list(
        _ selection: CacheSelection = CacheSelection(), order: EntryOrder = .url, reversed: Bool = false,
        limit: Int? = nil, _ body: @escaping @Sendable (CachedEntry) -> Bool
    ) async throws(KingfisherError) -> Bool {
        let now = now
        var query = EntryQuery()
        query.filter = selection.filter(at: now)
        query.order = order
        query.isReversed = reversed
        query.limit = limit
        let prepared = query
        return try await blocking.run { [self] () throws(KingfisherError) -> Bool in
            try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
                try storage.eachEntry(prepared) { body(CachedEntry($0, in: storage, now: now)) }
                return true
            } ?? false
        }
    }

    /// The original of a key and everything that was made from it, expired or not.
    public func entries(forKey key: String) async throws(KingfisherError) -> [CachedEntry] {
        try await blocking.run { [self] () throws(KingfisherError) in
            try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
                try storage.variants(of: EntryKey(key: key)).map { CachedEntry($0, in: storage, now: now) }
            } ?? []
        }
    }

    /// All that the index has of a source, here and in the lower layers, without the answers of the latter. Blocks.
    func entriesInIndex(forKey key: String) throws(KingfisherError) -> [Entry] {
        let key = EntryKey(key: key)
        let own = try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            try storage.variants(of: key)
        }
        return lowerLayers.reduce(own ?? []) { entries, layer in
            entries
                + (layer.look { storage throws(StorageError) in try storage.variants(of: key) } ?? [])
                .filter { !$0.key.isAnswer }
        }
    }

    /// Where the image of a key lies on the disk; nil when it is not cached or has expired. Kingfisher's
    /// `cachePath(forKey:)`, which also names files that are not there.
    public func cachePath(
        forKey key: String, processorIdentifier: String = ""
    ) async throws(KingfisherError) -> String? {
        let found = try await entries(forKey: key).first {
            $0.name.identifier == processorIdentifier && !$0.isExpired
        }
        guard let found else { return nil }
        return try await blocking.run { [self] () throws(KingfisherError) in
            try isWhole(found) ? found.path : nil
        }
    }

    /// The same, and behind them those of the lower layers.
    func entriesOfAllLayers(forKey key: String) async throws(KingfisherError) -> [CachedEntry] {
        let own = try await entries(forKey: key)
        let now = now
        let lower = await blocking.run { [self] in
            lowerLayers.enumerated().flatMap { index, layer in
                layer.look { storage throws(StorageError) in
                    try storage.variants(of: EntryKey(key: key)).map {
                        CachedEntry($0, in: storage, layer: index, now: now)
                    }
                } ?? []
            }
        }
        return own + lower
    }

    /// Whether the file of an entry can be read and is what was stored. Blocks; changes nothing in a cache that is open
    /// for reading only.
    func isWhole(_ cached: CachedEntry) throws(KingfisherError) -> Bool {
        if let layer = cached.layer {
            return lowerLayers[layer].look { storage throws(StorageError) in
                storage.isWhole(cached.entry)
            } ?? false
        }
        return try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            storage.isWhole(cached.entry)
        } ?? false
    }
}
