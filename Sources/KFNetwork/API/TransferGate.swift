/// Decides whether a transfer starts, at the moment when there is a place for it: nothing that it takes for the transfer is
/// held while the transfer waits for its turn, a rate or a pause of its host.
package protocol TransferGate: AnyObject, Sendable {
    /// Called on the I/O thread, which it must not hold up.
    func enter() -> TransferAdmission
    /// The transfer waits again, for its next hop; `enter` is called anew. Called on the I/O thread.
    func leave()
}

/// A gate that decides by itself when it is `.undecided`. The only kind that `TransferEngine.perform` can ask.
package protocol DecidingGate: TransferGate {
    /// Called after `.undecided`, in a task of its own. False ends the transfer with `.notAdmitted`.
    func admits() async -> Bool
}

/// What a gate says.
package enum TransferAdmission: Sendable {
    case open
    /// The transfer keeps its place until its receiver has decided.
    case undecided
    /// The transfer gives its place up and rests for that long, at least 1 ms. Then it is queued again, and its gate is
    /// asked anew. The rate of its host does not count it, and its timeouts do not run.
    case later(Duration)
    /// The transfer ends with `.notAdmitted`, and its place goes to another.
    case ended
}
