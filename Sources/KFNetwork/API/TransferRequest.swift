import Synchronization

/// One GET to make.
package struct TransferRequest: Sendable {
    /// Where an interrupted body is to be taken up again.
    package struct Resumption: Sendable, Equatable {
        /// Bytes already here; more than 0.
        package var offset: Int64
        /// The strong ETag of the body with its quotes, or its Last-Modified date where there was no ETag and the date is
        /// strong. Goes into If-Range, so that a changed body comes whole, with status 200; a 206 has to repeat it.
        package var validator: String
        /// The URL that answered when the body was begun, as `ResponseHead.effectiveURL` says.
        package var location: String
        /// The Content-Type that it had then, if any.
        package var contentType: String?
        /// What the whole body measured when it was begun, if that was announced.
        package var total: Int64?

        package init(offset: Int64, validator: String, location: String, contentType: String?, total: Int64?) {
            self.offset = offset
            self.validator = validator
            self.location = location
            self.contentType = contentType
            self.total = total
        }
    }

    package var url: String
    /// Sent as they are to the first origin; to others only where `RequestField.mayChangeOrigin` says so.
    package var headers: [(name: String, value: String)]
    package var terms: TransferTerms
    /// Among waiting transfers the higher one starts first.
    package var priority: Float
    /// The headers make this request conditional: status 304 is an answer, not an error.
    package var isConditional = false
    /// Ask for the rest of a body: status 206 is then an answer when it continues that body.
    package var resumption: Resumption?
    package var hooks = TransferHooks()
    package var control: TransferControl?
    /// Asked before each hop.
    package var gate: (any TransferGate)?

    package var options: TransferOptions {
        get { terms.options }
        set { terms = TransferTerms(newValue) }
    }

    package init(
        url: String, headers: [(name: String, value: String)] = [], terms: TransferTerms? = nil,
        priority: Float = 0.5
    ) {
        self.url = url
        self.headers = headers
        self.terms = terms ?? .standard
        self.priority = priority
    }
}

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
    package var challenge: (@Sendable (DownloadChallenge) async -> DownloadChallengeAnswer)?
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
