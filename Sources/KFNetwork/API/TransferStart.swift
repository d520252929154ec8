import Synchronization

/// One transfer to make.
package struct TransferStart: Sendable {
    private static let ids = Atomic<UInt64>(0)

    /// Unique in the process.
    package let id: UInt64
    package var request: TransferRequest
    package var sink: any TransferSink
    /// Is told of the end, with this transfer's `token`.
    package var receiver: any TransferReceiver
    package var token: any AnyObject & Sendable
    /// How long the transfer rests before it is queued; nil queues it at once. A resting transfer has not started:
    /// `drain` and `cancel` end it with `.cancelled`.
    package var delay: Duration?

    package init(
        _ request: TransferRequest, sink: any TransferSink, receiver: any TransferReceiver,
        token: any AnyObject & Sendable, delay: Duration? = nil
    ) {
        id = Self.ids.wrappingAdd(1, ordering: .relaxed).newValue
        self.request = request
        self.sink = sink
        self.receiver = receiver
        self.token = token
        self.delay = delay
    }
}
