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
    case pause(host: String, until: MonotonicTime)
    /// From now on nothing starts; what runs goes on.
    case drain
    case stop
}
