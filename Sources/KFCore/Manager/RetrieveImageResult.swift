import KFImaging
import KFStorage

/// An image that was retrieved. Kingfisher's `RetrieveImageResult`; pixels are made when they are asked for.
public struct RetrieveImageResult: Sendable {
    /// Apart from the rest, as results are copied often.
    indirect enum Content: Sendable {
        case file(CachedFile)
        /// Stored, and not opened: of many results at once, few are looked at.
        case stored(StoredFile)
        case bytes([UInt8])
        /// In memory, in this cache.
        case memory(CachedImage, ImageCache)
    }

    /// The source that succeeded; `originalSource` is the one that was asked for.
    public let source: Source
    /// The source that was asked for, whichever succeeded.
    public let originalSource: Source
    /// The way that the image came.
    public let way: RetrievalWay
    /// The cache that had the image as it was wanted; `none` when it was made, downloaded or confirmed for this call.
    public var cacheType: CacheType {
        switch way {
        case .memory: .memory
        case .disk, .stale: .disk
        case .derived, .revalidated, .fetched: .none
        }
    }

    /// The cache key of the source and the identifier of what was done to it.
    public let key: String
    /// Of what was done to it; empty for an original. That of an image for certain request headers, which Vary names, begins
    /// with `vary=` and a digest of them.
    public let identifier: String
    /// What is known of the image without decoding it.
    public let facts: ImageFacts
    /// How storing went; an image that could not be stored is delivered all the same.
    public let storing: CacheStoreResult
    /// Of the answer that brought the image; nil when none was asked for.
    public let response: ResponseFacts?
    /// Requests made, repetitions included.
    public let attempts: Int
    /// Nothing that is made of it is kept.
    let isPersonal: Bool
    /// How far the bytes were checked when they came from the source; nil for an image that a cache had.
    public let check: ImageCheck.Extent?
    /// What is wrong with the file although no pixel is missing, and what processing left out, such as the animation of
    /// an animated PNG; one clause each. Said when the image arrives or is made, and not of one that a cache holds.
    public let warnings: [String]
    let content: Content
    let terms: ResultTerms
    /// Nil for an image that was not cached, and for one that has been retrieved again.
    var repair: (by: any ImageRepair, box: OptionsBox)?
    /// Where the stored file lies; nil when nothing is stored.
    public let cachedPath: String?

    /// The file of the disk cache, open, if the image came from it or went to it.
    public var file: CachedFile? {
        if case .file(let file) = content { return file }
        return nil
    }

    /// The representation that it is, or is made of; nil for the one that is kept under the key alone.
    var representation: String? { EntryKey(key: key, identifier: identifier).representation }

    /// What an image that is made from this one is to know of the origin.
    var origin: OriginFacts? {
        if let response { return OriginFacts(response) }
        guard case .network = source else { return nil }
        switch content {
        case .file(let file): return OriginFacts(file.entry)
        case .stored(let stored): return OriginFacts(stored.entry)
        case .bytes, .memory: return nil
        }
    }
}

extension RetrieveImageResult: CustomStringConvertible {
    /// One line, such as `https://example.com/cat.jpg: memory, jpeg, 1024×683, 98304 bytes`.
    public var description: String {
        var words = [way.rawValue, facts.format.rawValue]
        if let width = facts.width, let height = facts.height { words.append("\(width)×\(height)") }
        return "\(source.name): \((words + ["\(facts.bytes) bytes"]).joined(separator: ", "))"
    }
}
