import KFStorage

/// The freshness of a response for a private cache (RFC 9111, RFC 5861). Warnings, `private` and `s-maxage` concern
/// other caches; `immutable` changes nothing here.
struct HTTPFreshness: Equatable {
    /// Whether the response may be stored.
    let isStorable: Bool
    /// Whether the headers say how long it is fresh, or that it is not.
    let isExplicit: Bool
    let freshUntil: Timestamp
    /// Whether a stale response must never be served.
    let mustRevalidate: Bool
    /// The time after expiry during which it may serve if the origin is unavailable, in milliseconds.
    let staleIfError: Int64
    /// The time after expiry during which it may serve while it is revalidated, in milliseconds.
    let staleWhileRevalidate: Int64

    /// The limit of heuristic freshness, in milliseconds: without an explicit lifetime, a tenth of the age at sending
    /// counts.
    static let heuristicLimit: Int64 = 7 * 86_400_000

    /// Computes the freshness. `headers` are cache-control, expires, date, age, vary and the status. `delay` is the
    /// time in milliseconds between the request and `received`.
    init(_ headers: HeaderLines, lastModified: String?, received: Timestamp, delay: Int64 = 0) {
        let control = CacheControl(headers.all("cache-control"))
        let status = headers.status
        let date = headers.all("date").first.flatMap(HTTPDate.parse)
        let variesAlways = headers.all("vary").contains { $0.split(separator: ",").contains { $0.contains("*") } }
        isStorable =
            ResponseStatus.isStorable(status)
            && (control.mustUnderstand ? ResponseStatus.isUnderstood(status) : !control.noStore)
        isExplicit = control.maxAge != nil || control.noCache || variesAlways || !headers.all("expires").isEmpty
        mustRevalidate = control.mustRevalidate || control.noCache
        staleIfError = mustRevalidate ? 0 : (control.staleIfError ?? 0) * 1000
        staleWhileRevalidate = mustRevalidate || variesAlways ? 0 : (control.staleWhileRevalidate ?? 0) * 1000
        let modified = ResponseStatus.isHeuristicallyFresh(status) || control.isPublic ? lastModified : nil
        let lifetime = Self.lifetime(control, headers, date: date ?? received, lastModified: modified)
        // The age and the date both come from the server, so the larger age counts (4.2.3).
        let apparent = max(0, received.since(date ?? received))
        let said = (Self.age(headers) ?? 0) * 1000 + max(0, delay)
        let age = max(apparent, said)
        freshUntil =
            control.noCache || variesAlways || lifetime <= age ? received : received.advanced(by: lifetime - age)
    }

    /// Returns the Age in seconds. The first of several values counts; an invalid one is ignored (5.1).
    private static func age(_ headers: HeaderLines) -> Int64? {
        guard let line = headers.all("age").first else { return nil }
        let member = line.split(separator: ",", omittingEmptySubsequences: false)[0]
        return CacheControl.seconds(HeaderLines.trimmed(member))
    }

    /// Returns the freshness lifetime in milliseconds, from the time of sending.
    private static func lifetime(
        _ control: CacheControl, _ headers: HeaderLines, date: Timestamp, lastModified: String?
    ) -> Int64 {
        if let seconds = control.maxAge { return seconds * 1000 }
        let expires = headers.all("expires")
        if !expires.isEmpty {
            // A malformed value, or two different ones, mean that it has expired.
            guard Set(expires).count == 1, let end = HTTPDate.parse(expires[0]) else { return 0 }
            return max(0, end.since(date))
        }
        guard let modified = lastModified.flatMap({ HTTPDate.parse($0) }) else { return 0 }
        return min(heuristicLimit, max(0, date.since(modified)) / 10)
    }
}

extension Duration {
    /// The duration in milliseconds, rounded down and saturated.
    package var milliseconds: Int64 {
        let (seconds, overflow) = components.seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow else { return components.seconds > 0 ? .max : .min }
        return seconds + components.attoseconds / 1_000_000_000_000_000
    }
}

/// The facts that an entry records about the response that brought its bytes.
struct OriginFacts: Sendable {
    let etag: String?
    let lastModified: String?
    let headers: HeaderLines
    /// The end of the freshness of that response, or of the last one that confirmed it; nil to compute it from the
    /// headers.
    let freshUntil: Timestamp?
    /// The freshness that a remote's entry states; nil if the options or the headers determine it.
    private(set) var stated: EntryRenewal?
    /// The freshness lifetime in milliseconds of the entry in the remote.
    private(set) var timeToLive: Int64?

    init(_ response: ResponseFacts, _ retrieval: Retrieval, now: Timestamp) {
        self.init(response, response.freshness, response.etag, response.lastModified, retrieval, now)
    }

    /// Creates the facts of an entry after a 304. Fields that the 304 lacks keep their value.
    init(_ response: ResponseFacts, confirming entry: Entry, _ retrieval: Retrieval, now: Timestamp) {
        let lines = HeaderLines(entry.freshness).ofResponse.updated(by: response.freshness)
        self.init(
            response, lines, response.etag ?? entry.etag, response.lastModified ?? entry.lastModified, retrieval, now)
    }

    private init(
        _ response: ResponseFacts, _ lines: HeaderLines, _ etag: String?, _ lastModified: String?,
        _ retrieval: Retrieval, _ now: Timestamp
    ) {
        self.etag = etag
        self.lastModified = lastModified
        headers = lines.after(response.redirects, lastModified: lastModified, received: now)
            .from(retrieval.place(of: response))
        freshUntil = nil
    }

    /// Creates the facts of an image from a remote. `freshUntil` replaces the end of freshness that the entry states.
    init(_ entry: RemoteEntry, freshUntil other: Timestamp?) {
        etag = entry.etag
        lastModified = entry.lastModified
        headers = HeaderLines(entry.freshness)
        freshUntil = other ?? entry.expires
        if other != nil { return }
        stated = EntryRenewal(
            expiration: entry.expires == .distantFuture ? .never : .date(entry.expires), extending: entry.extending)
        timeToLive = entry.timeToLive
    }

    /// Creates the facts for an image that is made from a cached original.
    init(_ original: Entry) {
        etag = original.etag
        lastModified = original.lastModified
        headers = HeaderLines(original.freshness)
        freshUntil = original.expires
    }
}

/// The policy that determines how long an image is fresh.
public enum CachePolicy: String, Sendable, CaseIterable {
    /// ``KingfisherOptions/diskCacheExpiration``, regardless of the server. Kingfisher's policy.
    case timeToLive = "ttl"
    /// The response headers, according to RFC 9111 for a private cache. See <doc:HTTPCaching>.
    case http
}
