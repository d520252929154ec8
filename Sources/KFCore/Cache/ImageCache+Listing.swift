import Glibc
import KFImaging
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
                try storage.eachEntry(prepared) { body(CachedEntry($0, path: storage.path(of: $0), now: now)) }
                return true
            } ?? false
        }
    }

    /// The original of a key and everything that was made from it, expired or not.
    public func entries(forKey key: String) async throws(KingfisherError) -> [CachedEntry] {
        try await blocking.run { [self] () throws(KingfisherError) in
            try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
                try storage.variants(of: EntryKey(key: key)).map {
                    CachedEntry($0, path: storage.path(of: $0), now: now)
                }
            } ?? []
        }
    }

    /// All that the index has of a source, here and in the lower layers, without the answers of the latter. Blocks.
    func entriesInIndex(forKey key: String) throws(KingfisherError) -> [Entry] {
        let key = EntryKey(key: key)
        let own = try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            try storage.variants(of: key)
        }
        return layers.reduce(own ?? []) { entries, layer in
            entries + layer.variants(of: key).map(\.entry).filter { !$0.key.isAnswer }
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
            layers.enumerated().flatMap { index, layer in
                layer.variants(of: EntryKey(key: key)).map {
                    CachedEntry($0.entry, path: $0.path, layer: index, now: now)
                }
            }
        }
        return own + lower
    }

    /// Whether the file of an entry can be read and is what was stored. Blocks; changes nothing in a cache that is open
    /// for reading only.
    func isWhole(_ cached: CachedEntry) throws(KingfisherError) -> Bool {
        if let layer = cached.layer { return layers[layer].isWhole(cached.entry) }
        return try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            storage.isWhole(cached.entry)
        } ?? false
    }
}

/// What the index says of an image of the disk cache.
public struct CachedEntry: Sendable {
    let entry: Entry
    /// The key of its source and the identifier of what was done to it.
    public let name: EntryName
    /// Where its file lies. The file is read-only, and is the cache's.
    public let path: String
    /// Whether it was no longer fresh when the index was read. It may still be revalidated, or serve as stale.
    public let isExpired: Bool
    /// The status of an answer that brought no image and is remembered; nil for an image. Its file is empty.
    public let answerStatus: Int?
    /// Which of the lower layers has it, in their order; nil when it is the cache's own.
    public let layer: Int?

    init(_ entry: Entry, path: String, layer: Int? = nil, now: Timestamp) {
        self.entry = entry
        name = EntryName(entry.key)
        self.path = path
        isExpired = entry.isExpired(at: now)
        answerStatus = entry.key.isAnswer ? HeaderLines(entry.freshness).status : nil
        self.layer = layer
    }

    /// What the index knows of its image.
    public var facts: ImageFacts { ImageFacts(entry) }
    /// Where it came from, without user info; nil when the key says it.
    public var url: String? { entry.url }
    /// The validator that its server gave; nil when there was none.
    public var etag: String? { entry.etag }
    /// The date that its server gave, as it stood in the header; nil when there was none.
    public var lastModified: String? { entry.lastModified }
    /// When it was stored.
    public var created: Timestamp { entry.created }
    /// When it stops, or stopped, being fresh.
    public var expires: Timestamp { entry.expires }
    /// When it last served; written at most once an hour.
    public var accessed: Timestamp { entry.accessed }
    /// A lower bound.
    public var hits: Int64 { entry.hits }
    /// Of the original that a processed image was made from: 64 hexadecimal digits.
    public var originalSHA256: String? { entry.original?.hex }
}

extension ImageCache {
    /// Checks everything on the disk: the index against itself, and every file against the index. Others may go on using
    /// the cache. `report` is told each finding, on a thread of the cache's own. Nil when there is no cache yet.
    ///
    /// With `repairs`, broken entries and orphan files are removed and counts are corrected. An index that SQLite
    /// finds fault with is set aside, and a new one built from the entries that can be read.
    public func verify(
        repairs: Bool = false, report: @escaping @Sendable (CacheFinding) -> Void = { _ in }
    ) async throws(KingfisherError) -> Verification? {
        try await blocking.run { [self] () throws(KingfisherError) -> Verification? in
            guard var configuration = storageConfiguration else { return nil }
            configuration.readOnly = !repairs
            configuration.access = .existing
            do throws(StorageError) {
                return try Self.verify(configuration, repairs: repairs, report)
            } catch .corruptIndex(let path, let detail) {
                return try rebuild(configuration, path, detail, repairs: repairs, report)
            } catch .system(_, _, ENOENT) {
                return nil
            } catch {
                throw repairs ? KingfisherError(writing: error) : KingfisherError(opening: error)
            }
        }
    }

    /// A storage of its own: what goes on meanwhile does not wait for it.
    private static func verify(
        _ configuration: DiskStorage.Configuration, repairs: Bool, _ report: @escaping (CacheFinding) -> Void
    ) throws(StorageError) -> Verification {
        if repairs {
            // Opening for writing would mend a broken index without a word in the report.
            var reading = configuration
            reading.readOnly = true
            _ = try DiskStorage(reading)
        }
        let storage = try DiskStorage(configuration)
        defer { storage.close() }
        return try storage.verify(repairs: repairs, report: report)
    }

    /// An index that cannot be repaired in place. With `repairs` it is rebuilt, and the new one verified.
    private func rebuild(
        _ configuration: DiskStorage.Configuration, _ path: String, _ detail: String, repairs: Bool,
        _ report: @escaping (CacheFinding) -> Void
    ) throws(KingfisherError) -> Verification {
        var result = Verification()
        var finding = CacheFinding(.damagedIndex, path: path, detail)
        if repairs {
            // Replacing an index waits until no process has it open.
            forgetStorage()
            do throws(StorageError) {
                try DiskStorage.rebuild(configuration)
                finding.isRepaired = true
                report(finding)
                result = try Self.verify(configuration, repairs: true, report)
            } catch {
                throw KingfisherError(writing: error)
            }
        } else {
            report(finding)
        }
        result.add(finding)
        return result
    }
}
