import KFNetwork

/// The transport and the back-pressure that all downloads of a downloader share.
final class DownloadSite: Sendable {
    let transport: any Transport
    /// The bodies that have arrived and are not stored yet. While it is full, no new transfer starts: where processing or
    /// storing is slower than the network, this bounds memory and the work that a kill loses.
    let backlog: Room

    init(_ transport: any Transport) {
        self.transport = transport
        backlog = Room { transport.hold($0) }
    }

    /// Starts transfers, and cancels those that were abandoned meanwhile.
    func start(_ starts: [TransferStart]) {
        if starts.isEmpty { return }
        transport.start(starts)
        // A cancellation before the start found no transfer to cancel.
        for start in starts where (start.token as? ImageDownload)?.isAbandoned == true { transport.cancel(start.id) }
    }
}

/// The part that performs transfers: the transfer engine, or a substitute in tests.
protocol Transport: Sendable {
    /// Queues transfers. Each ends once, through its receiver.
    func start(_ transfers: [TransferStart])
    func cancel(_ id: UInt64)
    func prioritize(_ id: UInt64, _ priority: Float)
    /// Starts no new transfers while `isHeld` is true.
    func hold(_ isHeld: Bool)
    func drain()
    func shutdown()
}

extension TransferEngine: Transport {}
