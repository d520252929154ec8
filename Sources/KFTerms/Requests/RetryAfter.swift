import KFStorage

extension Duration {
    /// The duration in seconds, rounded up; at least 1.
    package var roundedSeconds: Int64 { max(1, components.seconds + (components.attoseconds > 0 ? 1 : 0)) }
}

/// The delay that a Retry-After header asks for (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// The longest delay that is respected.
    package static let limit = Duration.seconds(300)

    /// Returns the rest that a 429 or 503 response asks for; nil without one.
    package static func rest(status: Int, value: String?, limit: Duration = limit) -> Duration? {
        guard status == 429 || status == 503, let value else { return nil }
        return span(value, now: .now(), limit: limit).flatMap { $0 > .zero ? $0 : nil }
    }

    /// Returns the delay of a value in seconds or of a date; zero for a past date, nil for anything else.
    package static func span(_ value: String, now: Timestamp, limit: Duration = limit) -> Duration? {
        if let seconds = CacheControl.seconds(value) { return min(limit, .seconds(seconds)) }
        guard let date = HTTPDate.parse(value) else { return nil }
        return min(limit, .milliseconds(max(0, date.since(now))))
    }
}
