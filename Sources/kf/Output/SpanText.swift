import KFCore

/// Spans of time for people.
enum SpanText {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("y", 365 * 86_400_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000),
    ]

    /// `3d`, `45m`, `0s`: the largest unit, rounded down.
    static func short(_ milliseconds: Int64) -> String {
        let span = max(0, milliseconds)
        for unit in units where span >= unit.milliseconds { return "\(span / unit.milliseconds)\(unit.name)" }
        return "0s"
    }

    /// How long something still counts as fresh.
    static func expiry(_ expires: Timestamp, now: Timestamp) -> String {
        if expires == .distantFuture { return "never" }
        return expires <= now ? "expired" : "in \(short(expires.since(now)))"
    }
}
