import CCurl

/// The state of one hop while libcurl works on it.
struct Exchange {
    enum Phase {
        case connecting, head, body
        /// Reading a response body that is discarded, so that the connection can be reused.
        case draining
    }

    /// The greatest number of bytes that is read to keep a connection.
    static let drainedBytes: Int64 = 64 << 10
    /// The greatest time, in nanoseconds, that is spent to keep a connection.
    static let drainedTime: Int64 = 2_000_000_000

    var phase = Phase.connecting
    var parser = HeadParser()
    var head: ResponseHead?
    /// The decoder of the body; nil if the body is passed on unchanged.
    var inflater: BodyInflater?
    /// The engine's own reason to end the hop. It is set once, and takes precedence over libcurl's result.
    var cause: TransferError?
    var redirect: (head: ResponseHead, to: TransferURL)?
    /// Whether the response hook has the head but has not decided yet. The sink does not have the head then.
    var awaitsDisposition = false
    /// Whether libcurl has finished the hop while the hook has not decided yet.
    var isComplete = false
    /// Whether libcurl was told to pause the body.
    var isPaused = false
    /// The number of body bytes in this hop.
    var received: Int64 = 0
    /// The number of bytes of the request's body that libcurl has taken.
    var taken: Int64 = 0
    /// The number of request bytes that the server had acknowledged when the stall timer last asked.
    var acknowledged: Int64 = 0
    /// The last address that `deniesPrivateAddresses` refused.
    var refusedAddress: String?
    var hasResolved = false
    /// The sockets that libcurl opened for this hop, one per address that it tried.
    var openedSockets: [Int32] = []
    /// Whether the request was kept from the existing connection that libcurl had chosen.
    var refusedConnection = false
    /// Whether the connection is HTTP/2.
    var isMultiplexed = false
    /// The number of requests that libcurl has sent for the hop. It repeats one by itself if a connection ends.
    var requests = 0
    /// The chosen connection, if its socket is known.
    var connection: Connection?
    /// Whether the response permits reuse of the connection.
    var offersConnection = false

    private var window: ProgressWindow
    private var drainEnd = MonotonicTime.distantFuture

    /// Starts a hop; `timeout` is in nanoseconds.
    init(timeout: Int64, now: MonotonicTime) {
        window = ProgressWindow(timeout: timeout, start: now)
    }

    /// The time at which the hop stalls or its draining ends. Never while the response hook decides: the server cannot
    /// send.
    var deadline: MonotonicTime { awaitsDisposition ? .distantFuture : min(drainEnd, window.deadline) }

    /// Restarts the stall timer.
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

/// Reports the progress of a body to a hook, at most once per its interval.
struct ProgressReport {
    private let tell: @Sendable (Int64, Int64?) -> Void
    private let interval: Duration
    /// The number of bytes that a resumed body had before.
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

/// The stall timer: a transfer ends when less than 1 KiB arrives in a span as long as the timeout. libcurl's own speed
/// limit uses an average, so it does not fire when silence follows a burst.
struct ProgressWindow {
    static let quota = 1024

    /// The timeout in nanoseconds; `Int64.max` for no limit.
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
}
