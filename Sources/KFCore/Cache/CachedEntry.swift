import KFImaging
import KFStorage

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

    init(_ entry: Entry, in storage: DiskStorage, layer: Int? = nil, now: Timestamp) {
        self.entry = entry
        name = EntryName(entry.key)
        path = storage.path(of: entry)
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
