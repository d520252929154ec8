import KFStorage

/// How long a server asks to be left alone (RFC 9110, 10.2.3).
enum RetryAfter {
    /// Longer than this nobody waits.
    static let limit = Duration.seconds(300)

    /// Seconds or a date; nil for what is neither, zero for what is over.
    static func span(_ value: String, now: Timestamp) -> Duration? {
        if let seconds = CacheControl.seconds(value) { return min(limit, .seconds(seconds)) }
        guard let date = HTTPDate.parse(value) else { return nil }
        return min(limit, .milliseconds(max(0, date.since(now))))
    }
}
