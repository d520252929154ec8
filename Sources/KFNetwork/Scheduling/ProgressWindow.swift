/// The rule of the stall timer: any span of the timeout's length that brings less than 1 KiB ends the transfer. curl's
/// own speed limit averages, and so does not fire when a burst is followed by silence.
struct ProgressWindow {
    static let quota = 1024

    private let timeout: Duration?
    private var start: MonotonicTime
    private var bytes = 0
    private var lastPass = 0

    init(timeout: Duration?, start: MonotonicTime) {
        self.timeout = timeout
        self.start = start
    }

    var deadline: MonotonicTime { timeout.map { start + $0 } ?? .distantFuture }

    /// `pass` numbers the turn of the loop; its `time` is read once, before the turn.
    mutating func add(_ count: Int, time: MonotonicTime, pass: Int) {
        bytes += count
        guard bytes >= Self.quota else { return }
        bytes = 0
        start = time
        lastPass = pass
    }

    /// What came in the very turn that is just over counts as having come now: a sink that held up the loop for
    /// longer than the timeout must not end every other transfer.
    mutating func isOver(now: MonotonicTime, pass: Int) -> Bool {
        if lastPass == pass { start = max(start, now) }
        return deadline <= now
    }
}
