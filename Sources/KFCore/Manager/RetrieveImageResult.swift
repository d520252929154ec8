import KFImaging
import KFStorage

/// A retrieved image. Kingfisher's `RetrieveImageResult`. Its pixels are decoded on demand.
public struct RetrieveImageResult: Sendable {
    /// Stored indirectly, because results are copied often.
    indirect enum Content: Sendable {
        case file(CachedFile)
        /// A stored file that is not open: few results of a batch are read.
        case stored(StoredFile)
        case bytes([UInt8])
        /// An image in the memory of this cache.
        case memory(CachedImage, ImageCache)
    }

    /// The source that brought the image: ``originalSource`` or one of its alternatives.
    public let source: Source
    /// The source that was requested.
    public let originalSource: Source
    /// The way in which the image was obtained.
    public let way: RetrievalWay
    /// The cache that had the requested image; `none` if it was made, fetched or revalidated for this call.
    public var cacheType: CacheType {
        switch way {
        case .memory: .memory
        case .disk, .stale: .disk
        case .derived, .revalidated, .fetched, .remote: .none
        }
    }

    /// The cache key of the source. The cache key of the image consists of this key and ``identifier``.
    public let key: String
    /// The identifier of the processing; empty for an original. For an image that Vary restricts to certain request
    /// headers, it begins with `vary=` and a digest of them.
    public let identifier: String
    /// The facts about the image that are known without decoding it.
    public let facts: ImageFacts
    /// The outcome of storing. An image is delivered even if it could not be stored.
    public let storing: CacheStoreResult
    /// The response that brought or confirmed the image; nil if no request was made.
    public let response: ResponseFacts?
    /// The number of requests made, retries included.
    public let attempts: Int
    /// Whether the image belongs to this call alone, so that nothing made from it is stored.
    let isPersonal: Bool
    /// The extent of the check of bytes from the source; nil for a cached image.
    public let check: ImageCheck.Extent?
    /// The warnings of the check and of processing: damage that affects no pixel, and parts that processing left out,
    /// such as the frames of an animation that is written as PNG. Empty for an image that a cache already had.
    public let warnings: [ImageWarning]
    let content: Content
    let terms: ResultTerms
    /// The repair of a damaged image; nil if the image was not cached, or has already been retrieved again.
    var repair: (by: any ImageRepair, box: OptionsBox)?
    /// The path of the stored file; nil if nothing is stored.
    public let cachedPath: String?

    /// The open file of the disk cache, if the image came from it or was stored in it.
    public var file: CachedFile? {
        if case .file(let file) = content { return file }
        return nil
    }

    /// The representation of the image or of its original; nil for the one under the key alone.
    var representation: String? { EntryKey(key: key, identifier: identifier).representation }

    /// The name of the entry that has the image: that of the original if it already has the requested format.
    package var storedName: EntryName {
        switch content {
        case .file(let file): EntryName(file.entry.key)
        case .stored, .bytes, .memory: EntryName(key: key, identifier: identifier)
        }
    }

    /// The facts about the origin, for an image that is made from this one.
    func origin(for retrieval: Retrieval) -> OriginFacts? {
        if let response { return OriginFacts(response, retrieval, now: retrieval.cache.now) }
        guard case .network = source else { return nil }
        switch content {
        case .file(let file): return OriginFacts(file.entry)
        case .stored(let stored): return OriginFacts(stored.entry)
        case .bytes, .memory: return nil
        }
    }
}

extension RetrieveImageResult: CustomStringConvertible {
    /// A summary in one line, such as `https://example.com/cat.jpg: memory, jpeg, 1024×683, 98304 bytes`.
    public var description: String {
        var words = [way.rawValue, facts.format.rawValue]
        if let width = facts.width, let height = facts.height { words.append("\(width)×\(height)") }
        return "\(source.name): \((words + ["\(facts.bytes) bytes"]).joined(separator: ", "))"
    }
}
