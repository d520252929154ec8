/// Decides whether a transfer starts, at the moment when there is a place for it: nothing that it takes for the transfer is
/// held while the transfer waits for its turn, a rate or a pause of its host.
package protocol TransferGate: Sendable {
    /// Called on the I/O thread, which it must not hold up.
    func enter() -> TransferAdmission
    /// Called after `.undecided`, in a task of its own. False ends the transfer with `.notAdmitted`.
    func admits() async -> Bool
    /// The transfer waits again, for its next hop; `enter` is called anew. Called on the I/O thread.
    func leave()
}

/// What a gate says.
package enum TransferAdmission: Sendable {
    case open
    /// The transfer ends with `.notAdmitted`, and its place goes to another.
    case closed
    /// The transfer keeps its place until `admits` has decided.
    case undecided
}
