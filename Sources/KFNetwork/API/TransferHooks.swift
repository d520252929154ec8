/// Whoever wants to have a say in a transfer. The asynchronous ones run in tasks of their own, never on the I/O thread;
/// the transfer waits for them no longer than its timeout allows and then ends with `.undecided`.
package struct TransferHooks: Sendable {
    package enum Disposition: Sendable { case allow, cancel }

    /// The request that a redirect leads to. Where the origin changes, it holds only headers that may go there.
    package struct ProposedRequest: Sendable {
        package var url: String
        package var headers: [(name: String, value: String)]

        package init(url: String, headers: [(name: String, value: String)] = []) {
            self.url = url
            self.headers = headers
        }
    }

    /// Sees the head of a redirect and what would be asked for next. Gives that, changed or not, or nil to refuse
    /// (`.redirectRefused`). A changed address is under the same rules as the server's.
    package var redirect: (@Sendable (ResponseHead, ProposedRequest) async -> ProposedRequest?)?
    /// Is asked once for each origin when a password is wanted, or when a certificate is not good.
    package var challenge: (@Sendable (AuthenticationChallenge) async -> AuthenticationChallenge.Answer)?
    /// Sees an accepted head ahead of its body and of the sink. `.cancel` ends the transfer with `.cancelledByHook`.
    package var response: (@Sendable (ResponseHead) async -> Disposition)?
    /// Sees the head of a refused status and says for how long the host that answered is to be left alone, if at all.
    /// Called on the I/O thread, before anything else starts to that host: `TransferEngine.pause` would come too late
    /// for what waits already.
    package var pause: (@Sendable (ResponseHead) -> Duration?)?
    /// Bytes here so far (with those of a resumed body that were there before) and in all, if that is known. Called on
    /// the I/O thread, which it must not hold up: after the first piece, at most once per `progressInterval`, and at
    /// the end of a body.
    package var progress: (@Sendable (_ received: Int64, _ total: Int64?) -> Void)?
    package var progressInterval = Duration.milliseconds(100)

    package init() {}
}
