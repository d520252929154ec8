import Glibc

/// How long an entry counts as fresh, from the moment it is stored. Kingfisher's `StorageExpiration`.
public enum StorageExpiration: Equatable, Sendable {
    /// For ever.
    case never
    /// So many seconds; not above 0, or no number, is over at once.
    case seconds(Double)
    /// So many days of 24 hours.
    case days(Int)
    /// Until this moment.
    case date(Timestamp)
    /// Already over: such an entry is not stored at all.
    case expired

    static let millisecondsPerDay: Int64 = 86_400_000

    /// The span of freshness in milliseconds when stored at `now`; nil is for ever.
    public func timeToLive(from now: Timestamp) -> Int64? {
        switch self {
        case .never: return nil
        case .seconds(let seconds):
            let milliseconds = (seconds * 1000).rounded()
            // Not `<= 0` turned around: a NaN is nobody's wish for eternity.
            guard milliseconds > 0 else { return 0 }
            return milliseconds >= 0x1p63 ? nil : Int64(milliseconds)
        case .days(let days):
            let (span, overflow) = Int64(days).multipliedReportingOverflow(by: Self.millisecondsPerDay)
            return overflow ? (days > 0 ? nil : 0) : max(0, span)
        case .date(let date): return date == .distantFuture ? nil : max(0, date.since(now))
        case .expired: return 0
        }
    }

    /// When an entry stored at `now` stops being fresh.
    public func expiry(from now: Timestamp) -> Timestamp {
        timeToLive(from: now).map(now.advanced(by:)) ?? .distantFuture
    }

    /// Nothing is to be stored.
    public func isExpired(at now: Timestamp) -> Bool { expiry(from: now) <= now }
}

/// What reading an entry does to its expiry. Kingfisher's `ExpirationExtending`.
public enum ExpirationExtending: Equatable, Sendable {
    /// Nothing.
    case none
    /// It is fresh again for as long as it was when stored.
    case cacheTime
    /// It is fresh from now for this long.
    case expirationTime(StorageExpiration)

    /// The expiry after a read at `now` of an entry whose span was `timeToLive` milliseconds (nil: for ever).
    public func expiry(after read: Timestamp, timeToLive: Int64?, current: Timestamp) -> Timestamp {
        switch self {
        case .none: current
        case .cacheTime: timeToLive.map(read.advanced(by:)) ?? .distantFuture
        case .expirationTime(let expiration): expiration.expiry(from: read)
        }
    }
}

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
