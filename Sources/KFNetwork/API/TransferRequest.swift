import Synchronization

/// One HTTP request. Only a GET without a signature follows redirects: any other request fails with `.httpStatus`.
package struct TransferRequest: Sendable {
    /// The validators of bytes that the caller has. Status 304 is then a success.
    package struct Condition: Sendable {
        package let headers: [(name: String, value: String)]
        /// Returns whether a URL gave the validators; `isFirst` is false after a redirect. Requests to other URLs carry no
        /// condition, because their 304 says nothing about the bytes.
        package let isFor: @Sendable (_ url: String, _ isFirst: Bool) -> Bool

        package init(
            headers: [(name: String, value: String)],
            isFor: @escaping @Sendable (_ url: String, _ isFirst: Bool) -> Bool = { _, _ in true }
        ) {
            self.headers = headers
            self.isFor = isFor
        }
    }

    /// The state of an interrupted body that the request resumes.
    package struct Resumption: Sendable, Equatable {
        /// The number of bytes received before; more than 0.
        package var offset: Int64
        /// The body's strong ETag with its quotes, or its Last-Modified date if it had no ETag and the date is strong.
        /// Sent as If-Range: a changed body then comes whole, with status 200, and a 206 must repeat the validator.
        package var validator: String
        /// The `ResponseHead.effectiveURL` of the first response. Requests to other URLs ask for the whole body.
        package var location: String
        /// The Content-Type of the first response, if any.
        package var contentType: String?
        /// The size of the whole body in bytes, if the first response announced it.
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
    package var method = TransferMethod.get
    /// The body of a PUT; nil is an empty one. Sent again from its start when the request is repeated.
    package var body: TransferBody?
    /// Signs the request. Other credentials are then not sent.
    package var signing: AWSSigning?
    /// The request headers. All go to the first origin, as do the credentials and the client certificate of the terms; see
    /// `OriginScope` for other origins.
    package var headers: [(name: String, value: String)]
    package var terms: TransferTerms
    /// The priority among waiting transfers: the highest starts first.
    package var priority: Float
    package var condition: Condition?
    /// The body to resume: status 206 is then a success if it continues that body.
    package var resumption: Resumption?
    package var limits = LimitHandling.end
    package var hooks = TransferHooks()
    /// The gate that each hop must pass before it starts.
    package var gate: (any TransferGate)?

    /// The answer of a transfer to a host that refuses its request for a limit: with status 429, or 503 with a time to wait.
    /// It needs the hook `retryAfter`.
    package enum LimitHandling: Sendable, Equatable {
        /// It ends with the refusal.
        case end
        /// It rests and goes on. All of its rests together take at most this long; nil is five minutes, the most.
        case outwait(most: Duration?)
        /// It ends with the refusal, and waits for no rest.
        case avoid

        /// The longest rest of its host for which a transfer waits before it starts. For a longer one it is refused when its turn
        /// comes, behind older transfers.
        var patience: Duration {
            switch self {
            case .end, .outwait(most: nil): HostState.longestRest
            case .outwait(let most?): most
            case .avoid: .zero
            }
        }
    }

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

/// One transfer for `TransferEngine.start`: a request, and the objects that get its body and its result.
package final class TransferStart: Sendable {
    private static let ids = Atomic<UInt64>(0)

    /// The transfer's number, unique in the process.
    package let id: UInt64
    package let request: TransferRequest
    package let sink: any TransferSink
    /// Receives the result, with the transfer's `token`.
    package let receiver: any TransferReceiver
    package let token: any AnyObject & Sendable
    /// The delay before the transfer is queued; nil queues it at once. Until then it has not started: `drain` and
    /// `cancel` end it with `.cancelled`.
    package let delay: Duration?

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

/// Callbacks that observe or decide about a transfer.
///
/// Asynchronous hooks run in tasks of their own, never on the I/O thread. If one takes longer than the request's
/// timeout, the transfer ends with `.undecided`.
package struct TransferHooks: Sendable {
    /// The next request of a redirect. If the origin changes, it contains only headers that may be sent there.
    package struct ProposedRequest: Sendable {
        package var url: String
        package var headers: [(name: String, value: String)]

        package init(url: String, headers: [(name: String, value: String)] = []) {
            self.url = url
            self.headers = headers
        }
    }

    /// Gets the head of a redirect and the proposed next request. Returns the request to make, changed or not, or nil
    /// to refuse the redirect (`.redirectRefused`). A changed URL is checked like the server's.
    package var redirect: (@Sendable (ResponseHead, ProposedRequest) async -> ProposedRequest?)?
    /// Gets the head of a redirect before `redirect` does. True ends the transfer with `.redirectRefused`. Called on the I/O
    /// thread; must not block.
    package var refusesRedirect: (@Sendable (ResponseHead) -> Bool)?
    /// Answers a challenge. Called at most once per origin and kind of challenge.
    package var challenge: (@Sendable (DownloadChallenge) async -> DownloadChallengeAnswer)?
    /// Gets an accepted head before the sink does. `.cancel` ends the transfer with `.cancelledByHook`.
    package var response: (@Sendable (ResponseHead) async -> ResponseDisposition)?
    /// Gets the head of a 429 or 503 and returns how long no request to its host may start, if it says that. Without this
    /// hook, refusals for limits change nothing for the host. Called on the I/O thread; must not block.
    package var retryAfter: (@Sendable (ResponseHead) -> Duration?)?
    /// Gets the number of body bytes so far (including the earlier part of a resumed body) and the total, if known.
    ///
    /// Called on the I/O thread, and must not block: after the first piece, at most once per `progressInterval`, and at
    /// the end of a body.
    package var progress: (@Sendable (_ received: Int64, _ total: Int64?) -> Void)?
    package var progressInterval = Duration.milliseconds(100)
    /// Called on the I/O thread whenever libcurl has taken bytes of the request's body. Must not block.
    package var sent: (@Sendable () -> Void)?
    /// Gets the body of an error status in pieces, if it is short. Called on the I/O thread; must not block.
    package var refusal: (@Sendable (UnsafeRawBufferPointer) -> Void)?

    package init() {}
}

/// Decides whether a transfer may start, at the moment when the engine's limits allow it. A resource that the gate
/// claims is therefore not held while the transfer waits in a queue or for its host.
package protocol TransferGate: AnyObject, Sendable {
    /// Decides about the next hop. Called on the I/O thread; must not block.
    func enter() -> TransferAdmission
    /// Releases what `enter` claimed, because the host has refused the request for a limit and the transfer waits. `enter`
    /// is then called anew. Called on the I/O thread.
    func leave()
}

/// The decision of a gate.
package enum TransferAdmission: Sendable {
    case open
    /// The transfer keeps its place until its receiver has decided.
    case undecided
    /// The transfer gives up its place and rests for that long, at least 1 ms. Then it is queued again, and the engine
    /// calls `enter` again. It does not count towards its host's rate, and its timeouts do not run.
    case later(Duration)
    /// The transfer ends with `.notAdmitted` and gives up its place.
    case ended
}

/// Receives transfers that have ended, and decides for gates that are undecided.
package protocol TransferReceiver: AnyObject, Sendable {
    /// Receives all transfers that have ended since the last call. Called on the I/O thread, at most once per turn of
    /// its loop; must not block. Called in a task for transfers that an engine without a thread cannot start.
    func ended(_ transfers: [EndedTransfer])
    /// Decides about the gates that were undecided in one turn of the loop. Called on the I/O thread; must not block.
    ///
    /// Call `answer` once, from any other thread, with a decision per gate: false ends the transfer with
    /// `.notAdmitted`. A transfer without a decision within its timeout ends with `.undecided`.
    func decide(_ gates: [any TransferGate], answer: @escaping @Sendable ([Bool]) -> Void)
}
