import KFNetwork

/// What moves the bytes: the transfer engine, or what a test puts in its place.
protocol Transport: Sendable {
    func perform(
        _ request: TransferRequest, sink: any TransferSink
    ) async throws(TransferError) -> TransferResponse
    /// Starts nothing more to the host for that long.
    func pause(host: String, for duration: Duration)
    func drain()
    func shutdown()
}

extension TransferEngine: Transport {}
