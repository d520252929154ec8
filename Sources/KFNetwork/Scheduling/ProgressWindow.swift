/// The rule of the stall timer: any span of the timeout's length that brings less than 1 KiB ends the transfer. curl's
/// own speed limit averages, and so does not fire when a burst is followed by silence.
struct ProgressWindow {
    static let quota = 1024

    private let timeout: Duration?
    private var start: MonotonicTime
    private var bytes = 0

    init(timeout: Duration?, start: MonotonicTime) {
        self.timeout = timeout
        self.start = start
    }

    var deadline: MonotonicTime { timeout.map { start + $0 } ?? .distantFuture }

    mutating func add(_ count: Int, now: MonotonicTime) {
        bytes += count
        guard bytes >= Self.quota else { return }
        bytes = 0
        start = now
    }

    func isOver(now: MonotonicTime) -> Bool { deadline <= now }
}
