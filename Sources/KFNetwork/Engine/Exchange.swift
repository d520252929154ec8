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
    static let drainedTime: Int64 = 2_000_000_000

    var phase = Phase.connecting
    var parser = HeadParser()
    var head: ResponseHead?
    /// Decodes the body; nil for one that is passed on as it comes.
    var inflater: BodyInflater?
    /// Set once; what libcurl says afterwards does not count.
    var verdict: TransferError?
    var redirect: (head: ResponseHead, to: TransferURL)?
    /// The 401 that libcurl answers by itself, with Digest.
    var digestChallenge: ResponseHead?
    /// The head was shown to a hook which has not allowed it yet. The sink knows nothing of it.
    var awaitsDisposition = false
    /// libcurl is through with the hop while the hook still ponders.
    var isComplete = false
    /// libcurl was told to wait with the body.
    var isPaused = false
    /// Body bytes of this hop.
    var received: Int64 = 0
    /// The last address that `deniesPrivateAddresses` refused.
    var refusedAddress: String?
    var hasResolved = false
    /// The sockets that libcurl opened for this hop, one per address that it tried.
    var openedSockets: [Int32] = []
    /// The request was not sent over the old connection that libcurl had chosen.
    var refusedConnection = false
    /// The connection is HTTP/2.
    var isMultiplexed = false
    /// libcurl chose a connection for the request.
    var hasConnection = false
    /// That connection, where its socket is known.
    var connection: Connection?
    /// The server said that the connection can be used again.
    var offersConnection = false

    private var window: ProgressWindow
    private var drainEnd = MonotonicTime.distantFuture

    /// `timeout` is in nanoseconds.
    init(timeout: Int64, now: MonotonicTime) {
        window = ProgressWindow(timeout: timeout, start: now)
    }

    /// While nobody takes what the server sends, it cannot be late.
    var deadline: MonotonicTime { isHeld ? .distantFuture : min(drainEnd, window.deadline) }

    private var isHeld: Bool { isPaused || awaitsDisposition }

    func isOver(now: MonotonicTime) -> Bool {
        !isHeld && (drainEnd <= now || window.isOver(now: now))
    }

    /// The server's time counts anew from here.
    mutating func restartWindow(timeout: Int64, now: MonotonicTime) {
        window = ProgressWindow(timeout: timeout, start: now)
    }

    mutating func progress(_ count: Int, notes: LoopNotes) {
        window.add(count, now: notes.now)
    }

    mutating func drain(notes: LoopNotes) {
        phase = .draining
        received = 0
        drainEnd = notes.now.advanced(nanoseconds: Self.drainedTime)
        notes.nextDeadline = min(notes.nextDeadline, drainEnd)
    }
}

/// Tells a hook how far a body has come, no more often than it wants to know.
struct ProgressReport {
    private let tell: @Sendable (Int64, Int64?) -> Void
    private let interval: Duration
    /// What a resumed body had before.
    private let offset: Int64
    private let total: Int64?
    private var told: Int64 = -1
    private var next = MonotonicTime(nanoseconds: 0)

    init?(hooks: TransferHooks, head: ResponseHead, offset: Int64) {
        guard let tell = hooks.progress else { return nil }
        self.tell = tell
        interval = hooks.progressInterval
        self.offset = offset
        total = head.contentLength.map { $0 + offset }
    }

    mutating func received(_ bytes: Int64, now: MonotonicTime) {
        guard now >= next else { return }
        next = now + interval
        report(bytes)
    }

    mutating func finish(_ bytes: Int64) {
        if told != bytes { report(bytes) }
    }

    private mutating func report(_ bytes: Int64) {
        told = bytes
        tell(offset + bytes, total)
    }
}

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
