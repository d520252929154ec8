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
