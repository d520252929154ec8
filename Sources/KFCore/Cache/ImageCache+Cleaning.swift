import KFImaging
import KFPipeline
import KFStorage
import KFTerms

/// Statistics of the disk cache.
public struct CacheSummary: Sendable {
    /// The path of the cache directory, with symbolic links resolved.
    public let directory: String
    /// The totals over all entries.
    public let totals: CacheTotals
    /// The shares of the hosts that the images came from; `local` means no host. A selection, or `exactly`, counts a file
    /// that entries share once, also in `formats`.
    public let hosts: [CacheShare]
    /// The shares of the formats, sniffed from the bytes.
    public let formats: [CacheShare]
    /// The shares by age since the store: `1h` (under an hour), `1d`, `7d`, `30d` and `older`.
    public let ages: [CacheShare]
    /// The disk space of the files in bytes, in whole blocks; nil unless `exactly` was set.
    public let allocated: Int64?
    /// The size limit in bytes; 0 means none.
    public let limit: Int64
    /// The number of partial downloads: interrupted ones that can be resumed, and those in flight.
    public let partials: Int
    /// The bytes of the partial downloads, which count towards the limit.
    public let partialBytes: Int64

    /// The number of remembered answers without an image.
    public var answers: Int { formats.first { $0.name == ImageCache.answerLabel }?.entries ?? 0 }
    /// The number of images that a processor made.
    public var processed: Int { totals.variants - answers }
}

/// A filter over entries. All conditions that are set must match.
public struct CacheSelection: Sendable {
    /// The hosts that the images came from; nil matches all.
    public var host: HostPattern?
    /// A pattern over keys with `*`, `?` and `[…]`; nil matches all.
    public var glob: String?
    /// The keys that match, and those that do not; nil matches all.
    public var keys: KeyChoice?
    /// The identifier of the processor that made the image, as ``EntryName/identifier`` has it; nil matches all. The
    /// representation that a Vary header selected may be left out.
    public var identifier: String?
    /// The format; nil matches all.
    public var format: ImageFormat?
    /// Whether only expired entries match.
    public var isExpired = false
    /// The size in bytes that the image must exceed; nil matches all.
    public var largerThan: Int64?
    /// The least time since the store; nil matches all.
    public var olderThan: Duration?
    /// The least time since the last read; nil matches all.
    public var unusedFor: Duration?
    /// The tags that the entry must have, all of them.
    public var tags: Set<String> = []

    /// Whether descriptions of images do not match.
    package var hidesDescriptions = false

    /// Creates a selection of all entries.
    public init() {}

    /// Whether the selection has no condition.
    public var selectsAll: Bool { filter(at: .distantFuture).selectsAll }

    /// Returns the pattern that matches this key only.
    public static func glob(exactly key: String) -> String { GlobText.exactly(key) }

    func filter(at now: Timestamp) -> EntryFilter {
        var filter = EntryFilter()
        filter.host = host
        filter.glob = glob
        filter.keys = keys
        filter.identifier = identifier
        filter.hiddenIdentifiers = hidesDescriptions ? DescriptionSerializer.identifiers : nil
        filter.format = format?.rawValue
        filter.largerThan = largerThan
        filter.expiredAt = isExpired ? now : nil
        filter.tags = tags.sorted()
        filter.createdBefore = olderThan.map { now.advanced(by: -$0.milliseconds) }
        filter.accessedBefore = unusedFor.map { now.advanced(by: -$0.milliseconds) }
        return filter
    }
}

extension ImageCache {
    /// Returns the statistics of the disk cache; nil when there is no cache yet. `exactly` also determines figures that
    /// cost a scan: the entries that expired in the current hour, and the disk space of the files.
    ///
    /// With a selection, entries and files are those that it selects, counted by a scan. The limit, the partial
    /// downloads and the counts of reads are those of the whole cache.
    public func summary(
        of selection: CacheSelection = CacheSelection(), exactly: Bool = false
    ) async throws(KingfisherError) -> CacheSummary? {
        let filter = selection.filter(at: now)
        return try await onDisk { storage throws(StorageError) in
            let partials = storage.partials
            var totals = try storage.totals(exactly: exactly)
            var (hosts, formats) = try storage.shares()
            var ages: [CacheShare]
            if exactly || !filter.selectsAll {
                let reads = totals.reads
                (totals, hosts, formats, ages) = try storage.summary(of: filter)
                totals.reads = reads
            } else {
                ages = try storage.ages(exactly: totals.isExpiredExact)
            }
            return CacheSummary(
                directory: storage.path, totals: totals, hosts: hosts, formats: formats, ages: ages,
                allocated: exactly && filter.selectsAll ? try storage.allocatedSize() : nil, limit: storage.sizeLimit,
                partials: partials.count, partialBytes: partials.bytes)
        }
    }

    /// Sets the counts of hits and misses to zero.
    public func resetCounts() async throws(KingfisherError) {
        _ = try await onDisk { storage throws(StorageError) in try storage.resetCounts() }
    }

    /// Receives each entry that is removed, or would be with `dryRun`, on one of the cache's threads.
    public typealias EachRemoved = @Sendable (EntryName) -> Void

    /// Removes the selected entries on the disk and in memory; with `dryRun`, only counts them. Waits for images that
    /// are being stored in the background. An image that is only in memory is selected by its key and identifier; a
    /// selection by host or age keeps it.
    ///
    /// Throws `cacheIsReadOnly` (3015) or `cacheIsLocked` (3016) when entries cannot be removed.
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

    /// Removes expired images on the disk and in memory, and partial downloads that are too old to be resumed.
    public func removeExpired(
        dryRun: Bool = false, each: EachRemoved? = nil
    ) async throws(KingfisherError) -> Removal {
        if !dryRun { memory.removeExpired() }
        return try await cleaning(dryRun, each) { storage, note throws(StorageError) in
            try storage.removeExpired(dryRun: dryRun, note)
        }
    }

    /// Evicts until images and partial downloads take at most `bytes`. Partial downloads go first, down to a quarter of
    /// `bytes`. Then expired images go, then the least recently used.
    public func evict(
        to bytes: Int64, dryRun: Bool = false, each: EachRemoved? = nil
    ) async throws(KingfisherError) -> Removal {
        try await cleaning(dryRun, each) { storage, note throws(StorageError) in
            try storage.evict(to: bytes, dryRun: dryRun, note)
        }
    }

    /// Removes the original of a key, its partial download and all images made from it, on the disk and in memory. With
    /// an identifier, removes only the images that it made. Waits for images of the key that are still being stored,
    /// and removes them too.
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

    /// Removes the partial download of a key; with `dryRun`, only counts it.
    public func removePartial(forKey key: String, dryRun: Bool = false) async throws(KingfisherError) -> Removal {
        try await onDisk { storage throws(StorageError) in
            var removal = Removal()
            removal.add(try storage.removePartial(for: EntryKey(key: key).source, dryRun: dryRun))
            return removal
        } ?? Removal()
    }

    /// Removes everything from memory and the disk, including partial downloads and orphan files. Waits for images that
    /// are being stored in the background.
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

    /// Runs a removal from the disk, then removes the same images from memory. An earlier lookup on the disk does not
    /// put them into memory afterwards. A nil key means any key.
    func removing(
        _ key: String?, _ onDisk: () async throws(KingfisherError) -> Removal,
        fromMemory isMeant: @Sendable (EntryKey) -> Bool
    ) async throws(KingfisherError) -> Removal {
        let removal = await stores.beginRemoval(of: key)
        defer { stores.end(removal) }
        defer { memory.remove(where: isMeant) }
        return try await onDisk()
    }

    /// Removes everything from the disk, as ``removeAll(dryRun:each:)`` does, but nothing from memory.
    public func clearDiskCache() async throws(KingfisherError) {
        _ = try await removing(nil, { () async throws(KingfisherError) in try await emptyDisk() }) { _ in false }
    }

    /// Removes everything, in memory and on the disk.
    public func clearCache() async throws(KingfisherError) { _ = try await removeAll() }

    /// Removes expired images from memory.
    public func cleanExpiredMemoryCache() { memory.removeExpired() }

    /// Removes expired images from the disk, as ``removeExpired(dryRun:each:)`` does.
    public func cleanExpiredDiskCache() async throws(KingfisherError) {
        _ = try await cleaning(false, nil) { storage, note throws(StorageError) in
            try storage.removeExpired(dryRun: false, note)
        }
    }

    /// Removes expired images, in memory and on the disk.
    public func cleanExpiredCache() async throws(KingfisherError) {
        _ = try await removeExpired()
    }

    /// The bytes of all files on the disk; 0 when there is no cache yet.
    public var diskStorageSize: Int64 {
        get async throws(KingfisherError) {
            try await onDisk { storage throws(StorageError) in try storage.storedSize() } ?? 0
        }
    }

    /// The bytes of all images in memory.
    public var memoryStorageCacheCost: Int { memory.totals.cost }

    private func cleaning(
        _ dryRun: Bool, _ each: EachRemoved?,
        _ body: @escaping @Sendable (DiskStorage, ((EntryName) -> Void)?) throws(StorageError) -> Removal
    ) async throws(KingfisherError) -> Removal {
        try await onDisk { [self] storage throws(StorageError) in
            if dryRun { return try body(storage, each) }
            storage.reapTemporaries()
            return try configuration.tellingCleaned(each) { note throws(StorageError) in try body(storage, note) }
        } ?? Removal()
    }

    /// Runs `body` on one of the cache's threads; nil when there is no cache yet.
    func onDisk<Value: Sendable>(
        failing: @escaping @Sendable (StorageError) -> KingfisherError = KingfisherError.init(writing:),
        _ body: @escaping @Sendable (DiskStorage) throws(StorageError) -> Value
    ) async throws(KingfisherError) -> Value? {
        try await blocking.run { [self] () throws(KingfisherError) in try withIndex(failing: failing, body) }
    }
}
