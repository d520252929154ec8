import KFImaging
import KFStorage
import KFTerms

/// A retrieved image. Kingfisher's `RetrieveImageResult`. Its pixels are decoded on demand.
public struct RetrieveImageResult: Sendable {
    private let outcome: Outcome
    /// The manager that repairs a damaged image; nil if the image was not cached, or has already been retrieved again.
    var repairer: KingfisherManager?

    init(
        _ retrieval: Retrieval, asked: Retrieval, _ way: RetrievalWay, _ content: Outcome.Content,
        _ facts: Outcome.Facts = Outcome.Facts(), _ storing: CacheStoreResult = CacheStoreResult()
    ) {
        outcome = Outcome(.retrieval(retrieval, asked: asked), way, content, facts, storing)
    }

    init(named source: Source, _ key: EntryKey, _ terms: ResultTerms, _ content: Outcome.Content) {
        outcome = Outcome(.named(source, key, terms), .memory, content)
    }

    /// The source that brought the image: ``originalSource`` or one of its alternatives.
    public var source: Source {
        switch outcome.subject {
        case .retrieval(let retrieval, _): retrieval.source
        case .named(let source, _, _): source
        }
    }

    /// The source that was requested.
    public var originalSource: Source { asked?.source ?? source }

    /// The retrieval that brought the image; nil for an image that memory had.
    var retrieval: Retrieval? {
        if case .retrieval(let retrieval, _) = outcome.subject { return retrieval }
        return nil
    }

    /// The reason of the request that the terms of asking gave.
    var reason: FetchReason? { outcome.facts.reason }

    /// The retrieval of the call; nil for an image that memory had.
    var asked: Retrieval? {
        if case .retrieval(_, let asked) = outcome.subject { return asked }
        return nil
    }

    /// The way in which the image was obtained.
    public var way: RetrievalWay { outcome.way }
    /// The cache that had the requested image; `none` if it was made, fetched or revalidated for this call.
    public var cacheType: CacheType {
        switch way {
        case .memory: .memory
        case .disk, .stale, .pinned: .disk
        case .derived, .revalidated, .fetched, .remote, .onFailure: .none
        }
    }

    /// The key of the image in its cache.
    var name: EntryKey {
        switch outcome.subject {
        case .retrieval(let retrieval, _): retrieval.target
        case .named(_, let key, _): key
        }
    }

    var terms: ResultTerms {
        switch outcome.subject {
        case .retrieval(let retrieval, _): retrieval.box.result
        case .named(_, _, let terms): terms
        }
    }

    /// The cache key of the source. The cache key of the image consists of this key and ``identifier``.
    public var key: String { name.key }
    /// The identifier of the processing; empty for an original. For an image that Vary restricts to certain request
    /// headers, it begins with `vary=` and a digest of them.
    public var identifier: String { name.identifier }
    /// The facts about the image that are known without decoding it.
    public var facts: ImageFacts {
        switch content {
        case .file(let file): ImageFacts(file.entry)
        case .stored(let stored): stored.facts
        case .bytes(_, let facts, _): facts
        case .memory(let cached, _): cached.facts
        }
    }

    /// The error in whose place ``KingfisherOptions/onFailureImage`` was delivered; nil for every other image.
    public var failure: KingfisherError? { outcome.facts.failure }
    /// The outcome of storing. An image is delivered even if it could not be stored.
    public var storing: CacheStoreResult { outcome.storing }
    /// The response that brought or confirmed the image; nil if no request was made.
    public var response: ResponseFacts? { outcome.facts.response }
    /// The number of requests made, retries included.
    public var attempts: Int { outcome.facts.attempts }
    /// The extent of the check of bytes from the source; nil for a cached image.
    public var check: ImageCheck.Extent? { outcome.facts.check }
    /// The warnings of the check and of processing: damage that affects no pixel, and parts that processing left out,
    /// such as the frames of an animation that is written as PNG. Empty for an image that a cache already had.
    public var warnings: [ImageWarning] { outcome.facts.warnings }
    /// The path of the stored file; nil if nothing is stored.
    public var cachedPath: String? {
        switch content {
        case .file(let file): file.path
        case .stored(let stored): stored.path
        case .bytes(_, _, let stored): stored?.path
        case .memory(let cached, _): cached.path
        }
    }

    package var content: Outcome.Content { outcome.content }

    /// Returns the image as the result of another retrieval of its run, which makes no request.
    func known(to retrieval: Retrieval) -> RetrieveImageResult {
        var facts = outcome.facts
        (facts.attempts, facts.response, facts.reason) = (0, nil, nil)
        return RetrieveImageResult(retrieval, asked: retrieval, .memory, content, facts, outcome.storing)
    }

    /// The open file of the disk cache, if the image came from it or was stored in it.
    public var file: CachedFile? {
        if case .file(let file) = content { return file }
        return nil
    }

    /// The representation of the image or of its original; nil for the one under the key alone.
    var representation: String? { name.representation }

    /// Whether the image keeps the description of another one.
    package var isDescription: Bool { DescriptionSerializer.isDescription(name.identifier) }

    /// The name of the entry that has the image: that of the original if it already has the requested format.
    package var storedName: EntryName {
        if case .file(let file) = content { return EntryName(file.entry.key) }
        return EntryName(name)
    }

    /// The SHA-256 and the size of the original: the image itself, or what it was made from; nil if they are not known.
    package var original: (digest: Digest, bytes: Int64?)? {
        if let digest = outcome.facts.original { return (digest, outcome.facts.originalBytes) }
        switch content {
        case .file(let file): return file.entry.originalContent
        case .stored(let stored), .bytes(_, _, let stored?): return stored.entry.originalContent
        case .bytes, .memory: return name.isOriginal ? facts.digest.map { ($0, facts.bytes) } : nil
        }
    }

    /// The SHA-256 of the original: 64 hexadecimal digits; nil if it is not known.
    public var originalSHA256: String? { original?.digest.hex }

    /// The measures of the original: of the image itself, or of what it was made from; nil if they are not known.
    public var originalMeasures: ImageMeasures? {
        if let measures = outcome.facts.measures { return measures }
        switch content {
        case .file(let file): return file.entry.originalMeasures
        case .stored(let stored), .bytes(_, _, let stored?): return stored.entry.originalMeasures
        case .bytes, .memory: return name.isOriginal ? facts.measures : nil
        }
    }

    /// The facts about the origin, for an image that is made from this one.
    func origin(for retrieval: Retrieval) -> OriginFacts? {
        if let response { return OriginFacts(response, retrieval, now: retrieval.now) }
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
