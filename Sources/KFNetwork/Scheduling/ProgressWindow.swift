/// The rule of the stall timer: any span of the timeout's length that brings less than 1 KiB ends the transfer. curl's
/// own speed limit averages, and so does not fire when a burst is followed by silence.
struct ProgressWindow {
    static let quota = 1024

    /// Nanoseconds; the greatest number for no limit.
    private let timeout: Int64
    private var start: MonotonicTime
    private var bytes = 0

    init(timeout: Int64, start: MonotonicTime) {
        self.timeout = timeout
        self.start = start
    }

    var deadline: MonotonicTime { start.advanced(nanoseconds: timeout) }

    mutating func add(_ count: Int, now: MonotonicTime) {
        bytes += count
        guard bytes >= Self.quota else { return }
        bytes = 0
        start = now
    }

    func isOver(now: MonotonicTime) -> Bool { deadline <= now }
}
