import Glibc
import KFSystem

/// A time on CLOCK_MONOTONIC, in nanoseconds. An instant of `ContinuousClock` has 16 bytes and computes in attoseconds,
/// which is too slow for the comparisons in every callback.
struct MonotonicTime: Comparable, Hashable, Sendable {
    var nanoseconds: Int64

    static let distantFuture = MonotonicTime(nanoseconds: .max)
    /// A time before all others whose distance to any of them does not overflow.
    static let distantPast = MonotonicTime(nanoseconds: .min / 4)

    static var now: MonotonicTime {
        var spec = timespec()
        clock_gettime(CLOCK_MONOTONIC, &spec)
        return MonotonicTime(nanoseconds: Int64(spec.tv_sec) * 1_000_000_000 + Int64(spec.tv_nsec))
    }

    static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Adds a duration and saturates: an overflow means "never".
    static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        time.advanced(nanoseconds: duration.saturatedNanoseconds)
    }

    /// Adds nanoseconds and saturates, without the 128-bit arithmetic of `Duration`.
    func advanced(nanoseconds span: Int64) -> MonotonicTime {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(span)
        return overflow ? .distantFuture : MonotonicTime(nanoseconds: sum)
    }

    /// Returns the span to a later time.
    func span(to later: MonotonicTime) -> Duration { .nanoseconds(later.nanoseconds &- nanoseconds) }

    /// Returns the seconds to another time; less than 0 for an earlier one.
    func seconds(to other: MonotonicTime) -> Double { (Double(other.nanoseconds) - Double(nanoseconds)) / 1e9 }

    /// Returns a span of seconds in nanoseconds, of at most 1e9 s.
    static func nanoseconds(_ seconds: Double) -> Int64 { Int64(clamping: min(seconds, 1e9) * 1e9) }

    /// Returns the milliseconds since `earlier`, in 0...limit. Rounds up, so that a sleep of that length is long
    /// enough.
    func milliseconds(after earlier: MonotonicTime, limit: Int64) -> Int64 {
        guard self > earlier else { return 0 }
        let (span, overflow) = nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return overflow ? limit : min(limit, span / 1_000_000 + (span % 1_000_000 == 0 ? 0 : 1))
    }
}
