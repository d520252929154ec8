import KFStorage

/// How long a response may be used without asking again: RFC 9111 for a private cache, and RFC 5861. Warnings, `private`
/// and `s-maxage` are for others; `immutable` asks for nothing that is not done anyway.
struct HTTPFreshness: Equatable {
    /// It may be kept at all.
    let isStorable: Bool
    let freshUntil: Timestamp
    /// Past its time it must not be used, whatever goes wrong.
    let mustRevalidate: Bool
    /// How long past its time the origin allows it when it cannot be asked, in milliseconds.
    let staleIfError: Int64
    /// How long past its time the origin allows it while the origin is asked, in milliseconds.
    let staleWhileRevalidate: Int64

    /// Of what had no explicit time, a tenth of its age when it was sent counts as one, and at most this.
    private static let heuristicLimit: Int64 = 7 * 86_400_000

    /// `headers`: cache-control, expires, date, age, vary, and the status. `delay`: milliseconds between asking and
    /// `received`.
    init(_ headers: HeaderLines, lastModified: String?, received: Timestamp, delay: Int64 = 0) {
        let control = CacheControl(headers.all("cache-control"))
        let status = headers.status
        let date = headers.all("date").first.flatMap(HTTPDate.parse)
        let variesAlways = headers.all("vary").contains { $0.split(separator: ",").contains { $0.contains("*") } }
        isStorable =
            ResponseStatus.isStorable(status)
            && (control.mustUnderstand ? ResponseStatus.isUnderstood(status) : !control.noStore)
        mustRevalidate = control.mustRevalidate || control.noCache
        staleIfError = mustRevalidate ? 0 : (control.staleIfError ?? 0) * 1000
        staleWhileRevalidate = mustRevalidate || variesAlways ? 0 : (control.staleWhileRevalidate ?? 0) * 1000
        let modified = ResponseStatus.isHeuristicallyFresh(status) || control.isPublic ? lastModified : nil
        let lifetime = Self.lifetime(control, headers, date: date ?? received, lastModified: modified)
        // Ages are the server's word, so is the date: the worse of the two counts (4.2.3).
        let apparent = max(0, received.since(date ?? received))
        let said = (Self.age(headers) ?? 0) * 1000 + max(0, delay)
        let age = max(apparent, said)
        freshUntil =
            control.noCache || variesAlways || lifetime <= age ? received : received.advanced(by: lifetime - age)
    }

    /// In seconds. Where a response has several, the first counts; one that is no number does not (5.1).
    private static func age(_ headers: HeaderLines) -> Int64? {
        guard let line = headers.all("age").first else { return nil }
        let member = line.split(separator: ",", omittingEmptySubsequences: false)[0]
        return CacheControl.seconds(HeaderLines.trimmed(member))
    }

    /// In milliseconds, from when it was sent.
    private static func lifetime(
        _ control: CacheControl, _ headers: HeaderLines, date: Timestamp, lastModified: String?
    ) -> Int64 {
        if let seconds = control.maxAge { return seconds * 1000 }
        let expires = headers.all("expires")
        if !expires.isEmpty {
            // Malformed, or said in two ways: it has expired.
            guard Set(expires).count == 1, let end = HTTPDate.parse(expires[0]) else { return 0 }
            return max(0, end.since(date))
        }
        guard let modified = lastModified.flatMap({ HTTPDate.parse($0) }) else { return 0 }
        return min(heuristicLimit, max(0, date.since(modified)) / 10)
    }
}

extension Duration {
    /// Rounded down; saturates.
    var milliseconds: Int64 {
        let (seconds, overflow) = components.seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow else { return components.seconds > 0 ? .max : .min }
        return seconds + components.attoseconds / 1_000_000_000_000_000
    }
}

/// What an entry is to know of the response that its bytes came by.
struct OriginFacts: Sendable {
    let etag: String?
    let lastModified: String?
    let headers: HeaderLines
    /// When that response, or the last that confirmed it, stops being fresh by its own words; nil when it is to be
    /// worked out from the headers.
    let freshUntil: Timestamp?

    init(_ response: ResponseFacts) {
        etag = response.etag
        lastModified = response.lastModified
        headers = response.freshness
        freshUntil = nil
    }

    /// Of an entry that a 304 has confirmed: what the answer does not say again still holds.
    init(_ response: ResponseFacts, confirming entry: Entry) {
        etag = response.etag ?? entry.etag
        lastModified = response.lastModified ?? entry.lastModified
        headers = HeaderLines(entry.freshness).updated(by: response.freshness)
        freshUntil = nil
    }

    /// Of an image that is made from a cached original.
    init(_ original: Entry) {
        etag = original.etag
        lastModified = original.lastModified
        headers = HeaderLines(original.freshness)
        freshUntil = original.expires
    }
}

/// What decides how long an image counts as fresh.
public enum CachePolicy: String, Sendable, CaseIterable {
    /// `diskCacheExpiration`, whatever the server says. Kingfisher's way.
    case timeToLive = "ttl"
    /// What the server says, as RFC 9111 has it for a private cache. See <doc:HTTPCaching>.
    case http
}
