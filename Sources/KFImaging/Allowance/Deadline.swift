import CImageCodecs
import Synchronization

/// The processor time after which the work on an image is abandoned, and the time that it has taken on all its threads.
/// Every loop over pixels checks it, most through a ``Pace``.
///
/// A busy machine takes a multiple of the time by the clock for the same work. By the clock, only work that computes
/// little and does not end is abandoned.
final class Deadline: Sendable {
    let limit: Duration
    /// The meter counts atomically, and is destroyed with this object.
    nonisolated(unsafe) let meter: OpaquePointer

    /// The time by the clock that the work may take for each second of the limit.
    private static let patience = 60

    /// `spent` is the part of the limit that earlier work has used.
    init(_ limit: Duration, spent: Duration = .zero) {
        self.limit = limit
        let nanoseconds = limit.nanoseconds
        let (elapsed, overflow) = nanoseconds.multipliedReportingOverflow(by: Int64(Deadline.patience))
        guard let meter = kf_meter_create(spent.nanoseconds, nanoseconds, overflow ? .max : elapsed) else {
            // A few dozen bytes: where these are missing, Swift's own allocations end the process in the same way.
            fatalError("out of memory")
        }
        self.meter = meter
    }

    deinit {
        kf_meter_destroy(meter)
    }

    /// Counts what the calling thread does from now on.
    func begin() { kf_meter_begin(meter) }

    /// Adds what the calling thread has done since it began.
    func count() { kf_meter_count(meter) }

    /// - Throws: `timeLimit` when the limit is reached.
    func check() throws(ImagingError) {
        if kf_meter_is_over(meter) != 0 { throw error }
    }

    var error: ImagingError { .timeLimit(spent < limit ? limit * Deadline.patience : limit) }

    /// The time that threads have counted.
    var spent: Duration { .nanoseconds(kf_meter_spent(meter)) }

    /// The number of samples between two checks of the clock; most loops take less than a millisecond for them.
    static let samplesPerLook = 262_144

    /// The number of rows between two checks of the clock.
    static func rowsPerLook(width: Int) -> Int {
        max(1, samplesPerLook / max(width, 1))
    }
}

extension Duration {
    /// At most `Int64.max`.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : whole.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
    }
}

/// Counts the processor time of the threads that libraries start by themselves.
///
/// Those of dav1d and libaom live as long as their coder, and have names. Those of libheif and libde265 have none, and end
/// within the call, so that the time of all threads that have ended is theirs.
///
/// Nothing tells which of these threads works for which picture. Calls at the same time share the time of all of them
/// by the number of threads that each may use, as the kernel shares the processors. The threads that encode a still
/// picture end within the call, and are not counted: no work on the image follows.
final class CoderThreads: Sendable {
    static let shared = CoderThreads(haveEnded: false)
    static let ended = CoderThreads(haveEnded: true)

    private let haveEnded: Bool

    private init(haveEnded: Bool) { self.haveEnded = haveEnded }

    private struct Times {
        /// The time of each thread when it was last read, by its number.
        var byThread: [Int32: Int64] = [:]
        /// The time of the threads that have ended, when it was last read.
        var ended: Int64 = 0
        /// The threads that the calls in progress may use.
        var inUse = 0
        /// The time that each of those threads has taken since the first call, in nanoseconds.
        var timePerThread = 0.0

        /// Shares the time since the last call of this function.
        mutating func update(haveEnded: Bool) {
            let time = haveEnded ? timeOfEnded() : timeOfCoders()
            timePerThread += Double(time) / Double(max(1, inUse))
        }

        private mutating func timeOfEnded() -> Int64 {
            let now = kf_ended_time()
            defer { ended = now }
            // The clocks are read one after the other, while the threads work.
            return max(0, now - ended)
        }

        private mutating func timeOfCoders() -> Int64 {
            var (now, time): ([Int32: Int64], Int64) = ([:], 0)
            withUnsafeTemporaryAllocation(of: kf_coder_thread.self, capacity: 1024) { buffer in
                for entry in buffer.prefix(kf_coder_threads(buffer.baseAddress, buffer.count)) {
                    let earlier = byThread[entry.thread] ?? 0
                    // A smaller time is that of a new thread with the number of one that has ended.
                    time += entry.time < earlier ? entry.time : entry.time - earlier
                    now[entry.thread] = entry.time
                }
            }
            byThread = now
            return time
        }
    }

    private let times = Mutex(Times())

    /// Runs a call to a coder with some threads, and counts the time of those other than the caller's.
    func counting(_ threads: Int, _ call: () -> kf_status) -> kf_status {
        guard threads > 1, let deadline = Allowance.current?.deadline else { return call() }
        let start = times.withLock { times in
            // Between the calls the coders' threads wait; any thread may end.
            if haveEnded || times.inUse > 0 { times.update(haveEnded: haveEnded) }
            times.inUse += threads
            return times.timePerThread
        }
        let status = call()
        let time = times.withLock { times in
            times.update(haveEnded: haveEnded)
            times.inUse -= threads
            return times.timePerThread - start
        }
        kf_meter_add(deadline.meter, Int64(clamping: time * Double(threads)))
        return status
    }
}
