/// State that the loop and its transfers share during a turn. Confined to the I/O thread. It calls no other code, so
/// its fields need no checks for overlapping access.
final class LoopNotes {
    /// The time, read at the start of each turn and when its wait ends; callbacks do not read the clock.
    ///
    /// Data counts as received when the wait ended, and deadlines are compared with that time. So a slow sink cannot
    /// end other transfers whose data is still in their sockets.
    @exclusivity(unchecked) var now = MonotonicTime.now
    /// Transfers whose name lookup finished in this turn.
    @exclusivity(unchecked) var resolved: [UInt64] = []
    /// Transfers whose hosts have begun to send an image, and get another place for that.
    @exclusivity(unchecked) var begun: [UInt64] = []
    /// Transfers with a question for a hook.
    @exclusivity(unchecked) var asking: [(transfer: UInt64, question: Question)] = []
    /// The hosts that began a rest in this turn, and those for whose rest a transfer waits now.
    @exclusivity(unchecked) var hostRests: [(host: String, rest: HostRest, isAwaited: Bool)] = []
    /// A lower bound of all running transfers' deadlines. A transfer whose deadline becomes earlier lowers it. Progress
    /// only makes deadlines later, and does not change it.
    @exclusivity(unchecked) var nextDeadline = MonotonicTime.distantFuture
    /// The bytes of bodies that may arrive before the rate is looked at again, and the transfers that are paused for it.
    @exclusivity(unchecked) var allowance = Int64.max
    @exclusivity(unchecked) var throttled: [UInt64] = []
    @exclusivity(unchecked) var passwords = PasswordMemory()
    @exclusivity(unchecked) var netrcs = NetrcFiles()
}

/// Asks a hook for a decision that a transfer waits for. Runs in a task of its own.
typealias Question = @Sendable () async -> Verdict

/// Applies a decision to its transfer, on the I/O thread, and returns how the transfer continues.
typealias Verdict = @Sendable (Transfer) -> Transfer.Outcome
