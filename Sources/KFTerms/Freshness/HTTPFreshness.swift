import KFStorage
import KFSystem

/// The freshness of a response for a private cache (RFC 9111, RFC 5861). Warnings, `private` and `s-maxage` concern
/// other caches; `immutable` changes nothing here.
package struct HTTPFreshness: Equatable {
    /// Whether the response may be stored.
    package let isStorable: Bool
    /// Whether the headers say how long it is fresh, or that it is not.
    package let isExplicit: Bool
    package let freshUntil: Timestamp
    /// Whether a stale response must never be served.
    package let mustRevalidate: Bool
    /// The time after expiry during which it may serve if the origin is unavailable, in milliseconds.
    package let staleIfError: Int64
    /// The time after expiry during which it may serve while it is revalidated, in milliseconds.
    package let staleWhileRevalidate: Int64

    /// The limit of heuristic freshness, in milliseconds: without an explicit lifetime, a tenth of the age at sending
    /// counts.
    static let heuristicLimit: Int64 = 7 * 86_400_000

    /// Computes the freshness. `headers` are cache-control, expires, date, age, vary and the status. `delay` is the
    /// time in milliseconds between the request and `received`.
    package init(_ headers: HeaderLines, lastModified: String?, received: Timestamp, delay: Int64 = 0) {
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
        return CacheControl.seconds(member.trimmingBlanks)
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
        let (seconds, attoseconds) = components
        return seconds.multiplied(saturating: 1000).adding(saturating: attoseconds / 1_000_000_000_000_000)
    }
}

/// The policy that determines how long an image is fresh.
public enum CachePolicy: String, Sendable, CaseIterable {
    /// ``KingfisherOptions/diskCacheExpiration``, regardless of the server. Kingfisher's policy.
    case timeToLive = "ttl"
    /// The response headers, according to RFC 9111 for a private cache. See <doc:HTTPCaching>.
    case http
}
