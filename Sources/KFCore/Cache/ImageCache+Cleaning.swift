import KFImaging
import KFStorage

/// What the disk cache holds, in numbers.
public struct CacheSummary: Sendable {
    /// Where the cache lies: its path with links resolved.
    public let directory: String
    /// Sums over everything.
    public let totals: CacheTotals
    /// By the host that the images came from; `local` is what came from none.
    public let hosts: [CacheShare]
    /// By the format that the bytes are in.
    public let formats: [CacheShare]
    /// By how long ago they were stored: `1h` is under an hour, and so on.
    public let ages: [CacheShare]
    /// What the files take on the disk, in whole blocks; nil unless it was asked for.
    public let allocated: Int64?
    /// In bytes; 0 is no limit.
    public let limit: Int64
    /// How many partial downloads there are: interrupted ones that can be resumed, and those under way.
    public let partials: Int
    /// The number and size of the partial downloads, which count in the limit.
    public let partialBytes: Int64
}

/// Which entries to remove; every part that is set must fit.
public struct CacheSelection: Sendable {
    /// The hosts that the images came from.
    public var host: HostPattern?
    /// `*`, `?` and `[…]` over keys.
    public var glob: String?
    /// Of a processor.
    public var identifier: String?
    /// Stored longer ago than this.
    public var olderThan: Duration?
    /// Not read for longer than this.
    public var unusedFor: Duration?

    /// Selects everything.
    public init() {}

    /// The pattern that one key fits and no other.
    public static func glob(exactly key: String) -> String { GlobText.exactly(key) }

    func filter(at now: Timestamp) -> EntryFilter {
        var filter = EntryFilter()
        filter.host = host
        filter.glob = glob
        filter.identifier = identifier
        filter.createdBefore = olderThan.map { now.advanced(by: -$0.milliseconds) }
        filter.accessedBefore = unusedFor.map { now.advanced(by: -$0.milliseconds) }
        return filter
    }
}

extension ImageCache {
    /// Nil when there is no cache yet. `exactly` also counts what costs a scan: the expired of the running hour, and what
    /// the files take on the disk.
    public func summary(exactly: Bool = false) async throws(KingfisherError) -> CacheSummary? {
        try await onDisk { storage throws(StorageError) in
            let shares = try storage.shares()
            let partials = storage.partials
            return CacheSummary(
                directory: storage.path, totals: try storage.totals(exactly: exactly), hosts: shares.hosts,
                formats: shares.formats, ages: try storage.ages(),
                allocated: exactly ? try storage.allocatedSize() : nil, limit: storage.sizeLimit,
                partials: partials.count, partialBytes: partials.bytes)
        }
    }

    /// Counts hits and misses from now on.
    public func resetCounts() async throws(KingfisherError) {
        _ = try await onDisk { storage throws(StorageError) in try storage.resetCounts() }
    }

    /// Told of each entry that goes, or would, on a thread of the cache's own.
    public typealias EachRemoved = @Sendable (EntryName) -> Void

    /// Removes what the selection means, on the disk and in memory; with `dryRun`, only counts it. Images that are being
    /// stored in the background are waited for. What is in memory alone is selected by its key and its identifier; a
    /// selection by host or by age leaves it.
    public func remove(
        _ selection: CacheSelection, dryRun: Bool = false, each: EachRemoved? = nil
    ) async throws(KingfisherError) -> Removal {
        let filter = selection.filter(at: configuration.clock.now())
        let removal = { [self] (each: EachRemoved?) async throws(KingfisherError) in
            try await cleaning(dryRun, each) { storage, note throws(StorageError) in
                try storage.remove(matching: filter, dryRun: dryRun, note)
            }
        }
        if dryRun { return try await removal(each) }
        return try await removing(nil) { () async throws(KingfisherError) in
            try await removal { [memory] name in
                memory.remove(EntryKey(key: name.key, identifier: name.identifier))
                each?(name)
            }
        } fromMemory: {
            filter.selects($0)
        }
    }

    /// Removes what has expired, on the disk and in memory, and partial downloads that are too old to be resumed.
    public func removeExpired(
        dryRun: Bool = false, each: EachRemoved? = nil
    ) async throws(KingfisherError) -> Removal {
        if !dryRun { memory.removeExpired() }
        return try await cleaning(dryRun, each) { storage, note throws(StorageError) in
            try storage.removeExpired(dryRun: dryRun, note)
        }
    }

    /// Removes until images and partial downloads take at most `bytes`: partial downloads first, down to a quarter of
    /// that; then the expired, then what was used longest ago.
    public func evict(
        to bytes: Int64, dryRun: Bool = false, each: EachRemoved? = nil
    ) async throws(KingfisherError) -> Removal {
        try await cleaning(dryRun, each) { storage, note throws(StorageError) in
            try storage.evict(to: bytes, dryRun: dryRun, note)
        }
    }

    /// Removes the original of a key, its partial download and everything that was made from it, on the disk and in
    /// memory; with an identifier, only what that made. An image of the key that was given out before and is still being
    /// stored is waited for, and goes as well.
    @discardableResult
    public func removeImage(
        forKey key: String, processorIdentifier identifier: String? = nil, fromMemory: Bool = true,
        fromDisk: Bool = true, dryRun: Bool = false, each: EachRemoved? = nil
    ) async throws(KingfisherError) -> Removal {
        let removal = { [self] () async throws(KingfisherError) in
            guard fromDisk else { return Removal() }
            return try await onDisk { storage throws(StorageError) in
                try storage.removeVariants(of: EntryKey(key: key), madeBy: identifier, dryRun: dryRun, each)
            } ?? Removal()
        }
        if dryRun { return try await removal() }
        return try await removing(key, removal) { cached in
            fromMemory && cached.key == key && (identifier == nil || cached.chain == identifier)
        }
    }

    /// Removes everything from memory and the disk, partial downloads and files that no entry knows. Images that are being
    /// stored in the background are waited for.
    public func removeAll(dryRun: Bool = false, each: EachRemoved? = nil) async throws(KingfisherError) -> Removal {
        if dryRun { return try await emptyDisk(dryRun: true, each) }
        return try await removing(nil, { () async throws(KingfisherError) in try await emptyDisk(each) }) { _ in true }
    }

    private func emptyDisk(
        dryRun: Bool = false, _ each: EachRemoved? = nil
    ) async throws(KingfisherError) -> Removal {
        try await cleaning(dryRun, each) { storage, note throws(StorageError) in
            try storage.removeAll(dryRun: dryRun, note)
        }
    }

    /// Runs a removal from the disk, then removes the same from memory: what a look-up has found on the disk before that
    /// does not come into memory after it. Nil is any key.
    func removing(
        _ key: String?, _ onDisk: () async throws(KingfisherError) -> Removal,
        fromMemory isMeant: @Sendable (EntryKey) -> Bool
    ) async throws(KingfisherError) -> Removal {
        let removal = await stores.beginRemoval(of: key)
        defer { stores.end(removal) }
        defer { memory.remove(where: isMeant) }
        return try await onDisk()
    }

    /// Removes everything from the disk, as ``removeAll(dryRun:each:)`` does, and nothing from memory.
    public func clearDiskCache() async throws(KingfisherError) {
        _ = try await removing(nil, { () async throws(KingfisherError) in try await emptyDisk() }) { _ in false }
    }

    /// Removes everything, in memory and on the disk.
    public func clearCache() async throws(KingfisherError) { _ = try await removeAll() }

    /// Removes what has expired in memory.
    public func cleanExpiredMemoryCache() { memory.removeExpired() }

    /// Removes what has expired on the disk, as ``removeExpired(dryRun:each:)`` does.
    public func cleanExpiredDiskCache() async throws(KingfisherError) {
        _ = try await cleaning(false, nil) { storage, note throws(StorageError) in
            try storage.removeExpired(dryRun: false, note)
        }
    }

    /// Removes what has expired, in memory and on the disk.
    public func cleanExpiredCache() async throws(KingfisherError) {
        _ = try await removeExpired()
    }

    /// Bytes of all files on the disk; 0 when there is no cache yet.
    public var diskStorageSize: Int64 {
        get async throws(KingfisherError) {
            try await onDisk { storage throws(StorageError) in try storage.storedSize() } ?? 0
        }
    }

    /// Bytes that images in memory take.
    public var memoryStorageCacheCost: Int { memory.totals.cost }

    private func cleaning(
        _ dryRun: Bool, _ each: EachRemoved?,
        _ body: @escaping @Sendable (DiskStorage, ((EntryName) -> Void)?) throws(StorageError) -> Removal
    ) async throws(KingfisherError) -> Removal {
        try await onDisk { [self] storage throws(StorageError) in
            if dryRun { return try body(storage, each) }
            return try tellingCleaned(each) { note throws(StorageError) in try body(storage, note) }
        } ?? Removal()
    }

    private func onDisk<Value: Sendable>(
        _ body: @escaping @Sendable (DiskStorage) throws(StorageError) -> Value
    ) async throws(KingfisherError) -> Value? {
        try await blocking.run { [self] () throws(KingfisherError) -> Value? in
            try withStorage(failing: KingfisherError.init(writing:), body)
        }
    }
}

extension ImageCache {
    /// Runs what removes entries of the disk, and tells `didClean` what went, once, when it is done. `each` is told of every
    /// entry. Where nobody listens, no names are looked up.
    func tellingCleaned<Failure: Error>(
        _ each: ((EntryName) -> Void)? = nil, _ body: (((EntryName) -> Void)?) throws(Failure) -> Removal
    ) throws(Failure) -> Removal {
        guard let didClean = configuration.didClean else { return try body(each) }
        var cleaning = CacheCleaning()
        cleaning.removal = try body { name in
            cleaning.add(name)
            each?(name)
        }
        if cleaning.removal.entries > 0 { didClean(cleaning) }
        return cleaning.removal
    }

    /// In milliseconds.
    private static let noticeInterval: Int64 = 60_000

    /// Tells of an image that has been given out and could not be stored.
    func tellFailedStore(_ key: EntryKey, _ error: KingfisherError) {
        configuration.didFailToStore?(CacheStoreFailure(name: EntryName(key), error: error))
        let now = now
        let isNew = toldFailures.withLock { told in
            if let last = told[error.errorCode], (0..<Self.noticeInterval).contains(now.since(last)) { return false }
            told[error.errorCode] = now
            return true
        }
        if isNew { configuration.notice("an image that was given out \(error.message)") }
    }
}
