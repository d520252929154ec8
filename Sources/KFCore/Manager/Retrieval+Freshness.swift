import KFStorage

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
