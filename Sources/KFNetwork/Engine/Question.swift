/// What a transfer waits for somebody else to decide.
enum Question {
    case redirect(ResponseHead, to: Hop)
    case challenge(AuthenticationChallenge, instead: TransferError)
    case response(ResponseHead)
    /// Whether the hop starts.
    case admission
}

/// What was decided.
enum Decision: Sendable {
    case redirect(TransferHooks.ProposedRequest?)
    case challenge(AuthenticationChallenge.Answer)
    case response(TransferHooks.Disposition)
    case admission(Bool)
}
