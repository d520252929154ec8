import KFStorage
import KFSystem

/// Ages and remaining times in text.
package enum SpanText {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("y", 365 * 86_400_000),
    ]

    /// `3d`, `45m`, `0s`: the largest unit, rounded to the nearest number. What was stored just now for 7 days expires
    /// in `7d`, although some milliseconds have passed.
    package static func short(_ milliseconds: Int64) -> String {
        let span = max(0, milliseconds)
        var text = "0s"
        var finer: Int64 = 1000
        for unit in units {
            // 59 m 59 s are 60 m, and so 1h.
            let reached = rounded(span, to: finer).multiplied(saturating: finer)
            guard reached >= unit.milliseconds else { break }
            text = "\(rounded(span, to: unit.milliseconds))\(unit.name)"
            finer = unit.milliseconds
        }
        return text
    }

    private static func rounded(_ span: Int64, to unit: Int64) -> Int64 {
        span / unit + (span % unit >= unit / 2 ? 1 : 0)
    }

    /// The time until an entry expires.
    package static func expiry(_ expires: Timestamp, now: Timestamp) -> String {
        if expires == .distantFuture { return "never" }
        return expires <= now ? "expired" : "in \(short(expires.since(now)))"
    }
}
