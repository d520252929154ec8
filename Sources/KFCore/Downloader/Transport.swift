import KFNetwork

/// What moves the bytes: the transfer engine, or what a test puts in its place.
protocol Transport: Sendable {
    /// Queues transfers; each ends through its receiver, once.
    func start(_ transfers: [TransferStart])
    func cancel(_ id: UInt64)
    func prioritize(_ id: UInt64, _ priority: Float)
    /// While it is held nothing new starts.
    func hold(_ isHeld: Bool)
    /// Starts nothing more to the host for that long.
    func pause(host: String, for duration: Duration)
    func drain()
    func shutdown()
}

extension TransferEngine: Transport {}
