import Glibc
import KFSystem

/// The time for which an entry is fresh, from the moment it is stored. Kingfisher's `StorageExpiration`.
public enum StorageExpiration: Equatable, Sendable {
    /// The entry never expires.
    case never
    /// The entry expires after that many seconds; at once if the number is NaN or not positive.
    case seconds(Double)
    /// The entry expires after that many days of 24 hours.
    case days(Int)
    /// The entry expires at that time.
    case date(Timestamp)
    /// The entry is expired from the start, so it is not stored.
    case expired

    static let millisecondsPerDay: Int64 = 86_400_000

    /// Returns the freshness lifetime in milliseconds of an entry stored at `now`; nil if it never expires.
    public func timeToLive(from now: Timestamp) -> Int64? {
        switch self {
        case .never: return nil
        case .seconds(let seconds):
            let milliseconds = (seconds * 1000).rounded()
            // Written so that NaN is expired: `milliseconds <= 0` would be false for it.
            guard milliseconds > 0 else { return 0 }
            return milliseconds >= 0x1p63 ? nil : Int64(clamping: milliseconds)
        case .days(let days):
            let span = Int64(days).multiplied(saturating: Self.millisecondsPerDay)
            return span == .max ? nil : max(0, span)
        case .date(let date): return date == .distantFuture ? nil : max(0, date.since(now))
        case .expired: return 0
        }
    }

    /// Returns the time at which an entry stored at `now` expires.
    public func expiry(from now: Timestamp) -> Timestamp {
        // A past date stays as it is: the time since then decides whether the entry may serve stale.
        if case .date(let date) = self { return date }
        return timeToLive(from: now).map(now.advanced(by:)) ?? .distantFuture
    }

    /// Returns whether an entry stored at `now` would be expired at once, so that it is not stored.
    public func isExpired(at now: Timestamp) -> Bool { expiry(from: now) <= now }
}

/// The effect of a read on an entry's expiry. Kingfisher's `ExpirationExtending`.
public enum ExpirationExtending: Equatable, Sendable {
    /// The expiry does not change.
    case none
    /// The entry is fresh again for the lifetime that it was stored with.
    case cacheTime
    /// The entry is fresh for this lifetime from the read on.
    case expirationTime(StorageExpiration)

    /// Returns the expiry after a read of an entry with a lifetime of `timeToLive` milliseconds (nil: never expires).
    public func expiry(after read: Timestamp, timeToLive: Int64?, current: Timestamp) -> Timestamp {
        switch self {
        case .none: current
        case .cacheTime: timeToLive.map(read.advanced(by:)) ?? .distantFuture
        case .expirationTime(let expiration): expiration.expiry(from: read)
        }
    }
}

/// A time in milliseconds since 1970. Arithmetic saturates, so that a distant date never wraps into the past.
public struct Timestamp: Comparable, Hashable, Sendable {
    /// The milliseconds since 1970 in UTC, without leap seconds.
    public let milliseconds: Int64

    /// Creates a time from the milliseconds since 1970.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The greatest time, later than any clock shows.
    public static let distantFuture = Timestamp(milliseconds: .max)

    /// Returns the time of the system's clock.
    public static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

    /// Returns this time plus a span in milliseconds.
    public func advanced(by span: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds.adding(saturating: span)) }

    /// Returns the milliseconds from `other` to this time.
    public func since(_ other: Timestamp) -> Int64 { milliseconds.subtracting(saturating: other.milliseconds) }
}

/// The clock of the caches: the system's, or a test's.
public struct CacheClock: Sendable {
    /// Returns the time; called from any thread.
    public let now: @Sendable () -> Timestamp

    /// Creates a clock that reads the time from `now`.
    public init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    /// The system's clock.
    public static let system = CacheClock(now: Timestamp.now)
}
