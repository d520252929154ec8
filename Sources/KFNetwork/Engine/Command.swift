/// What other threads want of the loop.
enum Command: Sendable {
    struct Start: Sendable {
        let id: UInt64
        let request: TransferRequest
        let sink: any TransferSink
        let continuation: UnsafeContinuation<Result<TransferResponse, TransferError>, Never>
    }

    case start(Start)
    case cancel(UInt64)
    case prioritize(UInt64, Float)
    /// The control of the transfer is no longer paused.
    case resume(UInt64)
    /// What the transfer's question number so-and-so came to.
    case decide(UInt64, question: Int, Decision)
    case pause(host: String, until: MonotonicTime)
    /// From now on nothing starts; what runs goes on.
    case drain
    case stop
}
