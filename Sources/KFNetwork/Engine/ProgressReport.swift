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
