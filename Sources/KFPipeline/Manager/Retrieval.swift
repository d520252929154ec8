import KFImaging
import KFRemote
import KFStorage
import KFTerms

/// One source with its options, and the cache keys that follow from them. It never changes, and all stages share it.
package final class Retrieval: Sendable {
    package let source: Source
    /// The URL of the source; nil for a provider.
    let url: RequestURL?
    let box: OptionsBox
    /// The key of the requested image.
    package let target: EntryKey
    /// The key of the original; equal to `target` when nothing is processed.
    package let original: EntryKey
    /// The hash that the original must have.
    package let pin: ContentHash?
    /// Whether the result is stored beside a cached representation for other request headers.
    let isBeside: Bool
    /// The cache of the requested image, and that of its original.
    package let cache: ImageCache
    package let originals: ImageCache

    /// Creates a retrieval. `cache` applies where the options name none.
    package init(_ source: Source, _ box: OptionsBox, _ cache: ImageCache, pin: ContentHash? = nil) {
        self.pin = pin ?? box.value.expectedHash
        self.source = source
        url = if case .network(let resource) = source { resource.downloadURL } else { nil }
        self.cache = box.value.targetCache ?? cache
        originals = box.value.originalCache ?? self.cache
        self.box = box
        let isOwn = box.keepsKeys && url?.credentials == nil
        target = EntryKey(
            key: isOwn ? source.cacheKey : source.cacheKey(for: box.value.request), identifier: box.identifier)
        original = target.original
        isBeside = false
    }

    package convenience init(_ source: Source, _ options: KingfisherOptions, _ cache: ImageCache) {
        self.init(source, OptionsBox(options), cache)
    }

    private init(
        _ other: Retrieval, box: OptionsBox? = nil, target: EntryKey? = nil, isBeside: Bool? = nil
    ) {
        (source, url, pin) = (other.source, other.url, other.pin)
        (cache, originals) = (other.cache, other.originals)
        self.box = box ?? other.box
        self.target = target ?? other.target
        original = target?.original ?? other.original
        self.isBeside = isBeside ?? other.isBeside
    }

    /// The time of the clock that decides about expiry.
    package var now: Timestamp { cache.now }
    package var options: KingfisherOptions {
        _read { yield box.value }
    }

    /// Returns the retrieval of the representation for certain request headers; nil is the one under the key alone.
    func of(representation: String?) -> Retrieval { Retrieval(self, target: key(of: representation)) }

    private func key(of representation: String?) -> EntryKey {
        EntryKey(key: target.key, representation: representation, chain: box.identifier)
    }

    /// Returns the retrieval with changed options. The changes must not affect its keys or caches.
    func with(_ change: (inout KingfisherOptions) -> Void) -> Retrieval { Retrieval(self, box: box.with(change)) }

    /// Whether the original is the requested image, kept in one place.
    var wantsOriginal: Bool { target == original && cache === originals }

    var usesMemory: Bool { options.memoryCacheExpiration != .expired }

    /// The receiver of arriving bytes: the handler of the options and the progressive display.
    var tap: (@Sendable (UnsafeRawBufferPointer) -> Void)? {
        let other = options.request.onDataReceived
        guard let show = options.progressiveJPEG else { return other }
        let feed = ProgressiveJPEGFeed(options.processing.decode, show: show)
        return { bytes in
            other?(bytes)
            feed.receive(bytes)
        }
    }

    /// Whether the source is a provider.
    var isLocal: Bool { url == nil }

    /// Whether the original is stored.
    var keepsOriginal: Bool {
        !options.cacheMemoryOnly && (options.cacheOriginalImage || wantsOriginal && !options.isForParts)
    }

    /// Whether the requested image is stored.
    var keepsTarget: Bool { !options.cacheMemoryOnly && (wantsOriginal || options.cacheProcessedImage) }

    /// The retrieval with nothing stored.
    var unstored: Retrieval {
        with { options in
            options.cacheMemoryOnly = true
            options.memoryCacheExpiration = .expired
        }
    }

    /// The image in memory, if it answers this request.
    var inMemory: CachedImage? {
        if asksOrigin { return nil }
        let image = cache.imageInMemory(target, extending: options.memoryCacheAccessExtendingExpiration)
        return image.flatMap { accepts($0) && refusal(of: $0) == nil ? $0 : nil }
    }

    /// The keys to look for on disk, in order of preference.
    package var keysOnDisk: [EntryKey] { target == original ? [target] : [target, original] }

    /// The caches to search, with the keys to look for in each.
    package var places: [(ImageCache, [EntryKey])] {
        cache === originals ? [(cache, keysOnDisk)] : [(cache, [target]), (originals, [original])]
    }

    /// Whether a look-up would ask the source now: it has neither an image nor a remembered answer. What cannot be read
    /// counts as missing. Blocks.
    var isMissing: Bool {
        let found = Result { () throws(KingfisherError) in
            try look(asksRemotes: false, isFirst: false, extends: false)
        }
        guard case .success(let found) = found else { return true }
        return if case .ask = found.decision { true } else { false }
    }

    /// Whether a look-up of its own key alone is not sufficient: there may be other representations, responses or
    /// caches.
    package var needsLook: Bool {
        pin != nil || selects || cache !== originals || !cache.layers.isEmpty || options.onlyFromCache
            || options.overlayProblem != nil
    }

    /// Returns whether bytes of this format are the requested image, unchanged.
    package func keepsBytes(of format: ImageFormat) -> Bool {
        options.cacheSerializer.copies(format)
            || options.processor.identifier.isEmpty && options.decoding.isEmpty && options.cacheSerializer.keeps(format)
    }

    private static func url(ofKey key: String) -> RequestURL? {
        try? RequestURL(key)
    }

    /// Returns the facts for the index about bytes of this source. `own` are the header lines about the image itself.
    func facts(
        format: ImageFormat, pixels: PixelFacts?, origin: OriginFacts?, original: Digest?,
        own: HeaderLines = HeaderLines(nil), now: Timestamp
    ) -> EntryFacts {
        var facts = EntryFacts()
        facts.format = format.rawValue
        facts.fileExtension = format.fileExtension
        facts.pixels = pixels
        facts.host = EntryFacts.localHost
        if let url {
            facts.host = url.host
            facts.url = url.text == target.key ? nil : url.text
        } else if target.key.hasPrefix("http"), let url = Self.url(ofKey: target.key) {
            // Bytes that a program supplies for a URL belong to its host.
            facts.host = url.host
        }
        facts.etag = origin?.etag
        facts.lastModified = origin?.lastModified
        facts.freshness = freshness(of: origin, own)
        facts.original = original
        let renewal = renewal(by: origin, now: now)
        facts.expiration = renewal.expiration
        facts.timeToLive = origin?.timeToLive
        facts.extending = renewal.extending
        facts.isKeptStale = followsServer(origin)
        facts.rewrites = options.forceRefresh
        return facts
    }
}

extension Retrieval {
    /// Returns whether the server determines the freshness. Images that no server sent keep the options' time to live.
    func followsServer(_ origin: OriginFacts?) -> Bool { origin != nil && options.cachePolicy == .http }

    /// Whether a cached image must be revalidated before it is served.
    package var asksOrigin: Bool {
        options.revalidate && !options.onlyFromCache && !isLocal && pin == nil && !hasBeenConfirmed
    }

    /// Whether the source is asked whatever is cached.
    var isForced: Bool { options.forceRefresh && !hasBeenConfirmed }

    /// Whether the source has sent or confirmed the cached image in this run.
    var hasBeenConfirmed: Bool {
        options.answers.map { $0.hasConfirmed(target) || $0.hasConfirmed(original) } ?? false
    }

    /// Whether the entry has arrived from the source in this run, or was confirmed. What has arrived counts as confirmed a
    /// moment later.
    func isAsSent(_ entry: Entry) -> Bool {
        guard let answers = options.answers else { return false }
        return answers.expects(entry) || hasBeenConfirmed
    }

    /// Returns false if the server forbids storing.
    func mayStore(_ origin: OriginFacts?, now: Timestamp) -> Bool {
        guard let origin, followsServer(origin) else { return true }
        return HTTPFreshness(origin.headers, lastModified: origin.lastModified, received: now).isStorable
    }

    /// Returns the new expiry of an entry after a response that brought or confirmed its bytes.
    func renewal(by origin: OriginFacts?, now: Timestamp) -> EntryRenewal {
        if let stated = origin?.stated { return stated }
        guard let origin, followsServer(origin) else {
            return EntryRenewal(
                expiration: options.diskCacheExpiration ?? cache.diskConfig.expiration,
                extending: options.diskCacheAccessExtendingExpiration)
        }
        let end =
            origin.freshUntil
            ?? HTTPFreshness(origin.headers, lastModified: origin.lastModified, received: now).freshUntil
        // Reads must not extend a time that the server set.
        return EntryRenewal(expiration: .date(end), extending: .none)
    }

    /// Returns the expiry in memory, which never exceeds the server's.
    func memoryExpiration(by origin: OriginFacts?, now: Timestamp) -> StorageExpiration? {
        guard let origin, followsServer(origin) else { return options.memoryCacheExpiration }
        return mayStore(origin, now: now) ? renewal(by: origin, now: now).expiration : .expired
    }

    /// Returns the header lines that the entry records: those of the response, the digest of the fields that Vary names, and
    /// those about the image itself.
    func freshness(of origin: OriginFacts?, _ own: HeaderLines = HeaderLines(nil)) -> String? {
        var lines = origin?.headers ?? HeaderLines(nil)
        if !lines.isEmpty { lines = lines.varying(by: VaryDigest.make(lines, box.value.request)) }
        if !own.isEmpty { lines = lines.updated(by: own) }
        return lines.isEmpty ? nil : lines.text
    }

    /// Returns whether the entry answers this request. Under the HTTP policy, the fields that Vary names must be equal.
    package func accepts(_ entry: Entry) -> Bool {
        if !entry.key.isAnswer, !isProven(entry) { return false }
        guard options.cachePolicy == .http, let freshness = entry.freshness else { return true }
        return accepts(HeaderLines(freshness))
    }

    /// Returns whether a response with these header lines answers this request.
    func accepts(_ lines: HeaderLines?) -> Bool {
        guard options.cachePolicy == .http, let lines else { return true }
        return lines.varyDigest == VaryDigest.make(lines, options.request).map { Substring($0) }
    }

    /// Returns the header lines that restrict an image in memory to certain requests; nil if it answers all of them.
    func selection(of origin: OriginFacts?) -> HeaderLines? {
        guard options.cachePolicy == .http, let freshness = freshness(of: origin) else { return nil }
        let lines = HeaderLines(freshness)
        return lines.varyDigest == nil ? nil : lines
    }

    /// Returns the error of a miss when the options forbid fetching. `stale` is the expired entry, if there is one.
    package func absence(_ stale: Entry?, now: Timestamp) -> KingfisherError {
        let key = target.description
        guard let stale, stale.isExpired(at: now) else { return .cacheError(reason: .imageNotExisting(key: key)) }
        return .cacheError(reason: .imageExpired(key: key, secondsAgo: max(0, now.since(stale.expires)) / 1000))
    }

    /// Returns whether a stale entry is served at once while its origin is asked (RFC 5861, 3).
    func servesWhileRevalidating(_ stale: Entry, now: Timestamp) -> Bool {
        guard options.servesWhileRevalidating, !options.revalidate else { return false }
        return isAllowed(stale, now, for: options.staleWhileRevalidate, orAs: \.staleWhileRevalidate)
    }

    /// Returns whether a stale entry may serve because its origin is unavailable, or must not be asked.
    package func mayServeStale(_ entry: Entry, now: Timestamp) -> Bool {
        options.offline || isAllowed(entry, now, for: options.staleIfError, orAs: \.staleIfError)
    }

    /// The same for an entry of a remote.
    package func mayServeStale(_ entry: RemoteEntry, now: Timestamp) -> Bool {
        let freshness = HTTPFreshness(
            HeaderLines(entry.freshness), lastModified: entry.lastModified, received: entry.stored)
        return options.offline
            || isAllowed(
                after: origin(of: entry).freshUntil ?? entry.expires, freshness, now, for: options.staleIfError,
                orAs: \.staleIfError)
    }

    private func isAllowed(
        _ entry: Entry, _ now: Timestamp, for span: Duration?, orAs said: KeyPath<HTTPFreshness, Int64>
    ) -> Bool {
        var freshness: HTTPFreshness?
        if options.cachePolicy == .http, entry.freshness != nil || entry.url != nil {
            freshness = HTTPFreshness(
                HeaderLines(entry.freshness), lastModified: entry.lastModified, received: entry.created)
        }
        return isAllowed(after: entry.expires, freshness, now, for: span, orAs: said)
    }

    /// Returns whether a stale entry may be served: within the span of the options or, under the HTTP policy, of its
    /// server.
    private func isAllowed(
        after expiry: Timestamp, _ freshness: HTTPFreshness?, _ now: Timestamp, for span: Duration?,
        orAs said: KeyPath<HTTPFreshness, Int64>
    ) -> Bool {
        var allowance = span?.milliseconds ?? 0
        if options.cachePolicy == .http, let freshness {
            if freshness.mustRevalidate { return false }
            allowance = max(allowance, freshness[keyPath: said])
        }
        return allowance > 0 && now < expiry.advanced(by: allowance)
    }
}

extension HeaderLines {
    /// The digest of the request that the response was for; nil if it answers every request.
    var varyDigest: Substring? { self[.vary] }

    func varying(by digest: String?) -> HeaderLines { noting(.vary, digest) }
}

/// Selection between the representations of one URL (RFC 9111, 4.1).
///
/// The first representation is stored under the URL alone, so that a URL without Vary costs one look-up. Those for
/// other request headers are stored beside it.
extension Retrieval {
    /// Whether the index may have entries beyond the two usual keys.
    var selects: Bool { options.cachePolicy == .http && !isLocal }

    /// Whether responses without an image are remembered.
    package var remembersAnswers: Bool {
        selects || (options.negativeTimeToLive ?? .zero) > .zero && !isLocal || leavesOut
    }

    /// Whether an image or a response may be left out, which is remembered for images that are requested.
    private var leavesOut: Bool { (options.filter != nil || options.optOut != nil) && !isLocal }

    /// The key of a remembered response without an image.
    var answerKey: EntryKey { EntryKey(key: target.key, identifier: EntryKey.answerIdentifier) }

    /// Returns the remembered response if it is for this request.
    func accepted(_ answer: Entry?) -> Sight.Answer {
        answer.flatMap { accepts($0) ? .entry($0) : nil } ?? .none
    }

    /// Returns the retrieval of the cached representation that answers its request. `entries` are all entries of its
    /// source. Without such a representation, the response will be stored beside the others.
    func selecting(among entries: [Entry]) -> Retrieval {
        let target = key(of: nil)
        let base = entries.first { $0.key == target.original } ?? entries.first { $0.key == target }
        guard let base, !accepts(base) else {
            return Retrieval(self, target: target, isBeside: false)
        }
        let candidates = entries.filter { entry in
            guard let representation = entry.key.representation else { return false }
            let place = key(of: representation)
            return (entry.key == place || entry.key == place.original) && accepts(entry)
        }
        // The most recent match counts (RFC 9111, 4).
        let representation = candidates.max { $0.created < $1.created }?.key.representation
        return Retrieval(self, target: key(of: representation), isBeside: true)
    }

    /// Returns the retrieval for the key under which a response is stored.
    func placed(by response: ResponseFacts?) -> Retrieval {
        guard isBeside, let response else { return self }
        let origin = OriginFacts(response, self, now: now)
        return of(representation: VaryDigest.make(origin.headers, options.request))
    }
}
