import CCurl

/// The state of one hop while libcurl works on it.
struct Exchange {
    enum Phase {
        case connecting, head, body
        /// The rest of an answer whose body is of no interest; read so that the connection can be used again.
        case draining

        var curlPhase: CurlFailure.Phase {
            switch self {
            case .connecting: .connecting
            case .head: .head
            case .body, .draining: .body
            }
        }
    }

    /// More than this is not read to save a connection.
    static let drainedBytes: Int64 = 64 << 10
    static let drainedTime = Duration.seconds(2)

    var phase = Phase.connecting
    var parser = HeadParser()
    var head: ResponseHead?
    /// Set once; what libcurl says afterwards does not count.
    var verdict: TransferError?
    var redirect: TransferURL?
    /// Body bytes of this hop.
    var received: Int64 = 0
    /// The last address that `denyPrivate` refused.
    var refusedAddress: String?
    var hasResolved = false

    private var window: ProgressWindow
    private var drainEnd = MonotonicTime.distantFuture

    init(timeout: Duration?, now: MonotonicTime) {
        window = ProgressWindow(timeout: timeout, start: now)
    }

    var deadline: MonotonicTime { min(drainEnd, window.deadline) }

    mutating func isOver(now: MonotonicTime, pass: Int) -> Bool {
        drainEnd <= now || window.isOver(now: now, pass: pass)
    }

    mutating func progress(_ count: Int, notes: LoopNotes) {
        window.add(count, time: notes.now, pass: notes.pass)
    }

    mutating func drain(notes: LoopNotes) {
        phase = .draining
        received = 0
        drainEnd = notes.now + Self.drainedTime
        notes.nextDeadline = min(notes.nextDeadline, drainEnd)
    }
}
