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
    var needsLook: Bool { selects || cache !== originals || !cache.layers.isEmpty || options.onlyFromCache }

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

extension Retrieval {
    /// The server, not the options, says how long the image is fresh. What no server sent keeps the options' time.
    func followsServer(_ origin: OriginFacts?) -> Bool { origin != nil && options.cachePolicy == .http }

    /// What is cached serves only when its origin has confirmed it.
    var asksOrigin: Bool { options.revalidate && !options.onlyFromCache && !isLocal }

    /// False when the server forbids it.
    func mayStore(_ origin: OriginFacts?, now: Timestamp) -> Bool {
        guard let origin, followsServer(origin) else { return true }
        return HTTPFreshness(origin.headers, lastModified: origin.lastModified, received: now).isStorable
    }

    /// How an entry becomes fresh, by a response that brought its bytes or confirmed them.
    func renewal(by origin: OriginFacts?, now: Timestamp) -> EntryRenewal {
        guard let origin, followsServer(origin) else {
            return EntryRenewal(
                expiration: options.diskCacheExpiration ?? cache.diskConfig.expiration,
                extending: options.diskCacheAccessExtendingExpiration)
        }
        let end =
            origin.freshUntil
            ?? HTTPFreshness(origin.headers, lastModified: origin.lastModified, received: now).freshUntil
        // What the server says is not to be stretched by reading.
        return EntryRenewal(expiration: .date(end), extending: .none)
    }

    /// In memory nothing outlives what the server says.
    func memoryExpiration(by origin: OriginFacts?, now: Timestamp) -> StorageExpiration? {
        guard let origin, followsServer(origin) else { return options.memoryCacheExpiration }
        return mayStore(origin, now: now) ? renewal(by: origin, now: now).expiration : .expired
    }

    /// The header lines that the entry keeps, and the request that it answers if that matters.
    func freshness(of origin: OriginFacts?) -> String? {
        guard let origin, !origin.headers.isEmpty else { return nil }
        return origin.headers.varying(by: VaryDigest.make(origin.headers, options.request)).text
    }

    /// Whether the entry answers this request: under the HTTP policy, what varies by a header is for requests with the
    /// same one.
    func accepts(_ entry: Entry) -> Bool {
        guard options.cachePolicy == .http, let freshness = entry.freshness else { return true }
        return accepts(HeaderLines(freshness))
    }

    /// The same by the lines that are kept of a response.
    func accepts(_ lines: HeaderLines?) -> Bool {
        guard options.cachePolicy == .http, let lines else { return true }
        return lines.varyDigest == VaryDigest.make(lines, options.request).map { Substring($0) }
    }

    /// The lines that decide which requests an image in memory is for; nil when it is for all.
    func selection(of origin: OriginFacts?) -> HeaderLines? {
        guard options.cachePolicy == .http, let freshness = freshness(of: origin) else { return nil }
        let lines = HeaderLines(freshness)
        return lines.varyDigest == nil ? nil : lines
    }

    /// Whether an expired entry serves at once while its origin is asked (RFC 5861, 3).
    func servesWhileRevalidating(_ stale: Entry, now: Timestamp) -> Bool {
        guard options.servesWhileRevalidating, !options.revalidate else { return false }
        return isAllowed(stale, now, for: options.staleWhileRevalidate, orAs: \.staleWhileRevalidate)
    }

    /// Whether an expired entry may serve because its origin cannot be asked.
    func mayServeStale(_ entry: Entry, now: Timestamp) -> Bool {
        isAllowed(entry, now, for: options.staleIfError, orAs: \.staleIfError)
    }

    /// Whether an entry may serve past its time, for as long as the options say or, under the HTTP policy, its server.
    private func isAllowed(
        _ entry: Entry, _ now: Timestamp, for span: Duration?, orAs said: KeyPath<HTTPFreshness, Int64>
    ) -> Bool {
        var allowance = span?.milliseconds ?? 0
        if options.cachePolicy == .http, entry.freshness != nil || entry.url != nil {
            let freshness = HTTPFreshness(
                HeaderLines(entry.freshness), lastModified: entry.lastModified, received: entry.created)
            if freshness.mustRevalidate { return false }
            allowance = max(allowance, freshness[keyPath: said])
        }
        return allowance > 0 && now < entry.expires.advanced(by: allowance)
    }
}

extension HeaderLines {
    private static let varyName = "kf-vary"

    /// Which request the response was for; nil when it answers every one.
    var varyDigest: Substring? { all(Self.varyName).first }

    func varying(by digest: String?) -> HeaderLines {
        digest.map { updated(by: HeaderLines([(Self.varyName, $0)])) } ?? self
    }
}

/// Choosing between the representations of one URL (RFC 9111, 4.1). The first that comes is kept under the URL alone, so
/// that a URL without Vary costs one look-up; those for other request headers are kept beside it.
extension Retrieval {
    /// Whether the index may have more to say than the two places where the image usually is.
    var selects: Bool { options.cachePolicy == .http && !isLocal }

    /// The same retrieval, of the representation that answers its request by what is cached: `entries` are all those of
    /// its source. Where there is none, what comes will be kept beside what is there.
    func selecting(among entries: [Entry]) -> Retrieval {
        guard selects else { return self }
        var chosen = of(representation: nil)
        chosen.answer = entries.first { $0.key.isAnswer && accepts($0) }
        let base = entries.first { $0.key == chosen.original } ?? entries.first { $0.key == chosen.target }
        guard let base, !accepts(base) else {
            chosen.isBeside = false
            return chosen
        }
        let candidates = entries.filter { entry in
            guard let representation = entry.key.representation else { return false }
            let place = of(representation: representation)
            return (entry.key == place.target || entry.key == place.original) && accepts(entry)
        }
        // Of several that match, the last one that came (RFC 9111, 4).
        chosen = chosen.of(representation: candidates.max { $0.created < $1.created }?.key.representation)
        chosen.isBeside = true
        return chosen
    }

    /// The same retrieval, for the place where what came with a response is kept.
    func placed(by response: ResponseFacts?) -> Retrieval {
        guard isBeside, let response else { return self }
        return of(representation: VaryDigest.make(response.freshness, options.request))
    }

    /// Why nothing is to be asked for: the server has said a while ago that there is no image, and until when that holds.
    func refusal(now: Timestamp) -> KingfisherError? {
        guard let answer, !answer.isExpired(at: now) else { return nil }
        let status = HeaderLines(answer.freshness).status
        let seconds = max(1, (answer.expires.since(now) + 999) / 1000)
        return .responseError(reason: .rememberedHTTPStatusCode(status, secondsLeft: seconds))
    }

    /// What the index is to say of an answer without an image; nil when it is not to be remembered.
    func facts(ofAnswer response: ResponseFacts, now: Timestamp) -> EntryFacts? {
        guard selects, !options.cacheMemoryOnly, case .network(let resource) = source else { return nil }
        let origin = OriginFacts(response)
        let freshness = HTTPFreshness(origin.headers, lastModified: origin.lastModified, received: now)
        guard freshness.isStorable, freshness.freshUntil > now else { return nil }
        var facts = EntryFacts()
        facts.format = ImageCache.answerLabel
        facts.fileExtension = ImageCache.answerLabel
        facts.host = resource.downloadURL.host
        facts.url = resource.downloadURL.text == target.key ? nil : resource.downloadURL.text
        facts.freshness = self.freshness(of: origin)
        facts.expiration = .date(freshness.freshUntil)
        facts.extending = .none
        return facts
    }
}
