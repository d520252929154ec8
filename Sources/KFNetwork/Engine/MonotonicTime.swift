import Glibc

/// A moment on CLOCK_MONOTONIC, in nanoseconds. `ContinuousClock` would do, but its instant is 16 bytes and its
/// arithmetic is on attoseconds; the loop asks for the time once per pass and compares in every callback.
struct MonotonicTime: Comparable, Hashable, Sendable {
    var nanoseconds: Int64

    static let distantFuture = MonotonicTime(nanoseconds: .max)

    static var now: MonotonicTime {
        var spec = timespec()
        clock_gettime(CLOCK_MONOTONIC, &spec)
        return MonotonicTime(nanoseconds: Int64(spec.tv_sec) * 1_000_000_000 + Int64(spec.tv_nsec))
    }

    static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Saturates: a duration too long to count means "never".
    static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        time.advanced(nanoseconds: duration.saturatedNanoseconds)
    }

    /// The same without a duration's arithmetic on 128 bits.
    func advanced(nanoseconds span: Int64) -> MonotonicTime {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(span)
        return overflow ? .distantFuture : MonotonicTime(nanoseconds: sum)
    }

    /// Milliseconds from `earlier`, rounded up so that a sleep of that length does not end too early; in 0...limit.
    func milliseconds(after earlier: MonotonicTime, limit: Int64) -> Int64 {
        guard self > earlier else { return 0 }
        let (span, overflow) = nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return overflow ? limit : min(limit, span / 1_000_000 + (span % 1_000_000 == 0 ? 0 : 1))
    }
}

extension Duration {
    var saturatedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, carried) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carried ? (seconds < 0 ? .min : .max) : sum
    }
}
