import Glibc

/// A moment in milliseconds since 1970. Arithmetic saturates, so that a far date never wraps into the past.
public struct Timestamp: Comparable, Hashable, Sendable {
    /// Since 1970 in UTC, without leap seconds.
    public let milliseconds: Int64

    /// So many milliseconds since 1970.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Later than any clock shows.
    public static let distantFuture = Timestamp(milliseconds: .max)

    /// What the system's clock shows.
    public static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

    /// Moves by a span in milliseconds.
    public func advanced(by span: Int64) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(span)
        return Timestamp(milliseconds: overflow ? (span > 0 ? .max : .min) : sum)
    }

    /// The span from `other` to this moment in milliseconds.
    public func since(_ other: Timestamp) -> Int64 {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(other.milliseconds)
        return overflow ? (milliseconds > other.milliseconds ? .max : .min) : difference
    }
}

/// Where the caches read the time: the system's clock, or a test's.
public struct CacheClock: Sendable {
    /// The time; called from any thread.
    public let now: @Sendable () -> Timestamp

    /// Reads the time from `now`.
    public init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    /// The system's clock.
    public static let system = CacheClock(now: Timestamp.now)
}
