import KFImaging
import KFStorage

/// One source and its options, and what they make of it.
struct Retrieval: Sendable {
    let source: Source
    private(set) var box: OptionsBox
    /// Where the wanted image lives.
    private(set) var target: EntryKey
    /// Where the untouched bytes live; the same when nothing is done to them.
    private(set) var original: EntryKey
    /// What comes is kept beside what the cache has for other request headers.
    var isBeside = false
    /// What few have, so that the others are copied faster.
    private var rare: Rare?
    /// Where the target is kept, and where the original.
    let cache: ImageCache
    let originals: ImageCache
    /// Commits of other processes when the image was missing; nil when it is fetched whatever they have stored.
    var commitsSeen: Int64?
    /// How often another process was said to have stored the image.
    var timesStored = 0

    private final class Rare: Sendable {
        let served: FoundFile?
        let answer: Entry?

        init(served: FoundFile?, answer: Entry?) {
            self.served = served
            self.answer = answer
        }
    }

    /// What expired of it and has been given out already.
    var served: FoundFile? {
        get { rare?.served }
        set { rare = Rare(served: newValue, answer: answer) }
    }

    /// What the server said last, if that was no image.
    var answer: Entry? {
        get { rare?.answer }
        set { rare = served == nil && newValue == nil ? nil : Rare(served: served, answer: newValue) }
    }

    /// `cache` is used where the options name none.
    init(_ source: Source, _ box: OptionsBox, _ cache: ImageCache) {
        self.source = source
        self.cache = box.value.targetCache ?? cache
        originals = box.value.originalCache ?? self.cache
        self.box = box
        target = EntryKey(key: source.cacheKey(for: box.value.request), identifier: box.identifier)
        original = target.original
    }

    init(_ source: Source, _ options: KingfisherOptions, _ cache: ImageCache) {
        self.init(source, OptionsBox(options), cache)
    }

    var options: KingfisherOptions {
        _read { yield box.value }
    }

    /// The same, of the representation for certain request headers; nil is the one that is kept under the key alone.
    func of(representation: String?) -> Retrieval {
        var retrieval = self
        retrieval.target = EntryKey(key: target.key, representation: representation, chain: box.identifier)
        retrieval.original = retrieval.target.original
        return retrieval
    }

    /// The same with other options, as far as they do not change where its image lives.
    func with(_ change: (inout KingfisherOptions) -> Void) -> Retrieval {
        var retrieval = self
        retrieval.box = box.with(change)
        return retrieval
    }

    /// Nothing is to be done to the bytes, nor are they to be kept in two places.
    var wantsOriginal: Bool { target == original && cache === originals }

    var usesMemory: Bool { options.memoryCacheExpiration != .expired }

    /// Sees the bytes as they come: what the options name, and whoever wants to see the image grow.
    var tap: (@Sendable (UnsafeRawBufferPointer) -> Void)? {
        let other = options.request.onDataReceived
        guard let show = options.progressiveJPEG else { return other }
        let feed = ProgressiveJPEGFeed(options.processing.decode, show: show)
        return { bytes in
            other?(bytes)
            feed.receive(bytes)
        }
    }

    /// No server is asked for it.
    var isLocal: Bool {
        if case .provider = source { return true }
        return false
    }

    /// The bytes as they come are to be stored.
    var keepsOriginal: Bool { !options.cacheMemoryOnly && (wantsOriginal || options.cacheOriginalImage) }

    /// What is made of the bytes is to be stored.
    var keepsTarget: Bool { !options.cacheMemoryOnly && (wantsOriginal || options.cacheProcessedImage) }

    /// The same, with nothing kept of what it brings.
    var unstored: Retrieval {
        with { options in
            options.cacheMemoryOnly = true
            options.memoryCacheExpiration = .expired
        }
    }

    /// What memory has of it, for a request like this one.
    var inMemory: CachedImage? {
        if asksOrigin { return nil }
        let image = cache.imageInMemory(target, extending: options.memoryCacheAccessExtendingExpiration)
        return image.flatMap { accepts($0.selection) ? $0 : nil }
    }

    /// Keys to look for on the disk, the best first.
    var keysOnDisk: [EntryKey] { target == original ? [target] : [target, original] }

    /// The caches to look into, and for which keys there.
    var places: [(ImageCache, [EntryKey])] {
        cache === originals ? [(cache, keysOnDisk)] : [(cache, [target]), (originals, [original])]
    }

    /// Whether another process has stored by now what can be used. Blocks.
    var isCached: Bool {
        !asksOrigin && places.contains { cache, keys in cache.hasFresh(keys, where: accepts) }
    }

    /// What the look-up of its own key cannot tell: other representations, answers, caches.
    var needsLook: Bool { selects || cache !== originals || cache.looksElsewhere || options.onlyFromCache }

    /// Whether bytes of this format are what is wanted, just as they are.
    func keepsBytes(of format: ImageFormat) -> Bool {
        options.processor.identifier.isEmpty && options.decoding.isEmpty && options.cacheSerializer.keeps(format)
    }

    /// What the index is to say of bytes of this source.
    func facts(
        format: ImageFormat, pixels: PixelFacts?, origin: OriginFacts?, original: Digest?, now: Timestamp
    ) -> EntryFacts {
        var facts = EntryFacts()
        facts.format = format.rawValue
        facts.fileExtension = format.fileExtension
        facts.pixels = pixels
        facts.host = "local"
        if case .network(let resource) = source {
            let url = resource.downloadURL
            facts.host = url.host
            facts.url = url.text == target.key ? nil : url.text
        }
        facts.etag = origin?.etag
        facts.lastModified = origin?.lastModified
        facts.freshness = freshness(of: origin)
        facts.original = original
        let renewal = renewal(by: origin, now: now)
        facts.expiration = renewal.expiration
        facts.extending = renewal.extending
        facts.isKeptStale = followsServer(origin)
        return facts
    }
}
