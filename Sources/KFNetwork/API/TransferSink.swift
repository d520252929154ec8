/// Where a body goes. Called on the I/O thread alone, in order, and never after `perform` has returned. What is done
/// here holds up every other transfer of the engine, so it must not block for long; a sink that can take no more for
/// now pauses its transfer by the request's `TransferControl`.
package protocol TransferSink: AnyObject, Sendable {
    /// The final, accepted head. Redirects and refused statuses never come here.
    func begin(_ head: ResponseHead) throws(SinkError)
    /// The next bytes of the body; valid during the call.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(SinkError)
}

/// Why a sink wants no more of a transfer. Comes back inside `TransferError.sink`.
package struct SinkError: Error, Sendable, Equatable {
    package var reason: String
    /// What the sink's owner wants to find again in the result. Not compared.
    package var underlying: (any Error)?

    package init(reason: String, underlying: (any Error)? = nil) {
        self.reason = reason
        self.underlying = underlying
    }

    package static func == (left: SinkError, right: SinkError) -> Bool { left.reason == right.reason }
}

/// Takes the transfers that have ended, and decides for gates that cannot.
package protocol TransferReceiver: AnyObject, Sendable {
    /// Called on the I/O thread, at most once per turn of its loop, with all transfers that have ended since the last
    /// call. Must not block. Transfers that an engine without a thread cannot start end in a task.
    func ended(_ transfers: [EndedTransfer])
    /// Called on the I/O thread with the gates that were undecided in one turn of its loop. Must not block. `answer` is
    /// to be called once, from any other thread, with a decision for each gate: false ends its transfer with
    /// `.notAdmitted`. A transfer whose decision does not come within its timeout ends with `.undecided`.
    func decide(_ gates: [any TransferGate], answer: @escaping @Sendable ([Bool]) -> Void)
}
