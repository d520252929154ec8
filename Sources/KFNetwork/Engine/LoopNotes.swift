/// What the loop and its transfers tell each other during a turn. Confined to the I/O thread, and calls out nowhere: its
/// fields need no check for overlapping access.
final class LoopNotes {
    /// Read at the start of each turn and again when its wait ends; callbacks do not ask for the time. Data counts as
    /// received when the wait ended. Deadlines are compared with that time too: a sink that holds up the loop must not
    /// end other transfers, whose data is still in their sockets.
    @exclusivity(unchecked) var now = MonotonicTime.now
    /// Transfers whose host's name became known in this turn.
    @exclusivity(unchecked) var resolved: [UInt64] = []
    /// Transfers that have a question for somebody else.
    @exclusivity(unchecked) var asking: [(transfer: UInt64, question: Question)] = []
    /// Hosts that are to be left alone for a while.
    @exclusivity(unchecked) var pauses: [(host: String, span: Duration)] = []
    /// No running transfer is overdue before. Progress moves a transfer's own deadline on without telling; whatever
    /// brings one forward says so here.
    @exclusivity(unchecked) var nextDeadline = MonotonicTime.distantFuture
}

/// What a transfer waits for somebody else to decide.
enum Question {
    case redirect(ResponseHead, to: Hop)
    case challenge(DownloadChallenge, instead: TransferError)
    case response(ResponseHead)
    /// Whether the hop starts.
    case admission
}

/// What was decided.
enum Decision: Sendable {
    case redirect(TransferHooks.ProposedRequest?)
    case challenge(DownloadChallengeAnswer)
    case response(TransferHooks.Disposition)
    case admission(Bool)
}
