import Glibc
import KFImaging
import KFPipeline
import KFStorage
import KFTerms

extension ImageCache {
    /// Calls `body` with each entry on the disk, fresh or expired, with bounded memory. A false from `body` ends the
    /// listing. `body` runs on one of the cache's threads.
    ///
    /// Returns false when there is no cache yet. Of a million entries, the first 20 take some ten milliseconds.
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
        return try await onDisk(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            try storage.eachEntry(prepared) { body(CachedEntry($0, path: storage.path(of: $0), now: now)) }
            return true
        } ?? false
    }

    /// Returns the original of a key and all images made from it, fresh or expired.
    public func entries(forKey key: String) async throws(KingfisherError) -> [CachedEntry] {
        try await blocking.run { [self] () throws(KingfisherError) in try ownEntries(forKey: key) }
    }

    private func ownEntries(forKey key: String) throws(KingfisherError) -> [CachedEntry] {
        try withIndex(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            try storage.variants(of: EntryKey(key: key)).map {
                CachedEntry($0, path: storage.path(of: $0), now: now)
            }
        } ?? []
    }

    /// Returns the path of the image of a key; nil when it is not cached or has expired. Kingfisher's
    /// `cachePath(forKey:)` also returns paths of missing files.
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

    /// Returns whether the bytes of an entry's file are the stored ones. They are hashed.
    package func holdsWhole(_ cached: CachedEntry) async throws(KingfisherError) -> Bool {
        let digest = try await onDisk(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            try storage.open(cached.entry)?.digest()
        }
        return (digest ?? nil) == cached.entry.object.digest
    }

    /// Returns the entries of a key in this cache, followed by those of the lower layers. Blocks.
    func entriesOfAllLayers(forKey key: String) throws(KingfisherError) -> [CachedEntry] {
        let now = now
        return try ownEntries(forKey: key)
            + layers.enumerated().flatMap { index, layer in
                layer.variants(of: EntryKey(key: key)).map {
                    CachedEntry($0.entry, path: $0.path, layer: index, now: now)
                }
            }
    }

    /// Returns whether the file of an entry can be read and has the stored bytes. Blocks. Changes nothing in a cache
    /// that is open for reading only.
    func isWhole(_ cached: CachedEntry) throws(KingfisherError) -> Bool {
        if let layer = cached.layer { return layers[layer].isWhole(cached.entry) }
        return try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            storage.isWhole(cached.entry)
        } ?? false
    }
}

/// An image of the disk cache as the index describes it.
public struct CachedEntry: Sendable {
    let entry: Entry
    /// The key of the image's source and the identifier of the processor that made it.
    public let name: EntryName
    /// The path of the file. It is read-only and belongs to the cache.
    public let path: String
    /// Whether the image is as its server sent it.
    package var isOriginal: Bool { entry.key.isOriginal }
    /// Whether the entry was expired when the index was read. It may still be revalidated, or served stale.
    public let isExpired: Bool
    /// The HTTP status of a remembered response without an image, whose file is empty; nil for an image.
    public let answerStatus: Int?
    /// Whether the response had an image, which was left out.
    public let isLeftOut: Bool
    /// The position of the lower layer that has the entry; nil for the cache's own entries.
    public let layer: Int?

    init(_ entry: Entry, path: String, layer: Int? = nil, now: Timestamp) {
        self.entry = entry
        name = EntryName(entry.key)
        self.path = path
        isExpired = entry.isExpired(at: now)
        let answer = entry.key.isAnswer ? HeaderLines(entry.freshness) : nil
        answerStatus = answer?.status
        isLeftOut = answer?.isLeftOut ?? false
        self.layer = layer
    }

    /// The facts about the image that the index holds.
    public var facts: ImageFacts { ImageFacts(entry) }
    /// The URL that the image came from, without user info; nil when the key is that URL.
    public var url: String? { entry.url }
    /// The entity tag that the server sent; nil when there was none.
    public var etag: String? { entry.etag }
    /// The text of the Last-Modified header that the server sent; nil when there was none.
    public var lastModified: String? { entry.lastModified }
    /// The time of the store.
    public var created: Timestamp { entry.created }
    /// The time at which the image expires, or expired.
    public var expires: Timestamp { entry.expires }
    /// The time of the last hit, written at most once an hour.
    public var accessed: Timestamp { entry.accessed }
    /// The number of hits: a lower bound.
    public var hits: Int64 { entry.hits }
    /// The tags, in order; empty for an entry that a look-up and not a listing found.
    public var tags: [String] { entry.tags }
    /// The values of a description that the entry keeps in place of an image; nil for other entries, and for a damaged one.
    /// Blocks.
    package var describedValues: DescribedValues? {
        guard DescriptionSerializer.isDescription(name.identifier) else { return nil }
        do throws(StorageError) {
            let file = try FileDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            return DescriptionSerializer.description(in: try file.readAll(limit: 1024))
        } catch {
            // The entry may have been evicted since the index was read.
            return nil
        }
    }
    /// The SHA-256 of the original that a processed image was made from: 64 hexadecimal digits; nil when it was not
    /// recorded.
    public var originalSHA256: String? { entry.original?.hex }
}

extension ImageCache {
    /// Checks everything on the disk: the index against itself, and every file against the index. Other processes can
    /// use the cache meanwhile. `report` receives each finding, on one of the cache's threads. Returns nil when there
    /// is no cache yet.
    ///
    /// With `repairs`, broken entries and orphan files are removed and counts are corrected. An index in which SQLite
    /// finds damage is set aside, and a new one is built from the entries that can be read.
    ///
    /// With a selection, only the selected entries and their files are checked.
    public func verify(
        _ selection: CacheSelection = CacheSelection(), repairs: Bool = false,
        report: @escaping @Sendable (CacheFinding) -> Void = { _ in }
    ) async throws(KingfisherError) -> Verification? {
        try await blocking.run { [self] () throws(KingfisherError) -> Verification? in
            guard var configuration = storageConfiguration else { return nil }
            configuration.readOnly = !repairs
            configuration.access = .existing
            let filter = selection.filter(at: now)
            do throws(StorageError) {
                return try Self.verify(configuration, filter, repairs: repairs, report)
            } catch .corruptIndex(let path, let detail) {
                return try rebuild(configuration, path, detail, repairs: repairs, report)
            } catch .system(_, _, ENOENT) {
                return nil
            } catch {
                throw repairs ? KingfisherError(writing: error) : KingfisherError(opening: error)
            }
        }
    }

    /// Opens a separate storage, so that other calls do not wait for the check.
    private static func verify(
        _ configuration: DiskStorage.Configuration, _ filter: EntryFilter = EntryFilter(), repairs: Bool,
        _ report: @escaping (CacheFinding) -> Void
    ) throws(StorageError) -> Verification {
        if repairs {
            // Opening for writing would repair a damaged index without reporting it.
            var reading = configuration
            reading.readOnly = true
            _ = try DiskStorage(reading)
        }
        let storage = try DiskStorage(configuration)
        defer { storage.close() }
        return try storage.verify(filter, repairs: repairs, report: report)
    }

    /// Reports an index that cannot be repaired in place. With `repairs`, rebuilds it and verifies the new one.
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
