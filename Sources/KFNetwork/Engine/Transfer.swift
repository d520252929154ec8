import CCurl
import KFSystem

/// A transfer from its start to its result, over all its hops. Confined to the I/O thread.
///
/// Accesses to its fields are not checked for overlap, because every header line would pay for that. They cannot
/// overlap: only `ProgressReport` calls foreign code, and its hook has no reference to the transfer.
final class Transfer {
    typealias Answer = Result<TransferResponse, TransferError>

    /// The next step after a hop has ended or a question was decided.
    enum Outcome {
        case answer(Answer)
        case follow(Hop)
        /// Release the handle, and wait for the decision.
        case ask(Question)
        /// Keep the handle, and wait for the response hook's decision.
        case wait
        /// Continue the transfer unchanged.
        case proceed
        case start
    }

    let start: TransferStart
    let ticket: Ticket
    let notes: LoopNotes
    let connections: Connections

    /// The queue in which the transfer waits, or of whose host it is an active transfer.
    @exclusivity(unchecked) var host: HostQueue?
    @exclusivity(unchecked) var handle: EasyHandle?
    /// Whether the transfer counts as active and waits for its gate's decision, without a handle.
    @exclusivity(unchecked) var isAtGate = false
    /// The transfer's index in the loop's list of running transfers.
    @exclusivity(unchecked) var runningIndex = 0

    @exclusivity(unchecked) var hop: Hop
    @exclusivity(unchecked) var exchange: Exchange
    /// The open question, if any. A decision with another number is ignored, because it is too late.
    @exclusivity(unchecked) var question: (number: Int, asking: Task<Void, Never>?, deadline: MonotonicTime)?
    @exclusivity(unchecked) var questions = 0
    @exclusivity(unchecked) var progress: ProgressReport?

    @exclusivity(unchecked) private(set) var hasStarted = false
    /// Whether the transfer waits to repeat a request that was refused for a limit.
    @exclusivity(unchecked) private var isLimited = false
    @exclusivity(unchecked) private(set) var limitedRests = LimitedRests()
    /// Whether libcurl finished the hop without an error, a timeout, or a failed attempt at another address.
    @exclusivity(unchecked) private(set) var endedCleanly = false
    @exclusivity(unchecked) private var metrics = DownloadMetrics()
    @exclusivity(unchecked) private var firstStart = MonotonicTime.distantFuture
    @exclusivity(unchecked) private var end = MonotonicTime.distantFuture

    init(
        _ start: TransferStart, url: TransferURL, ticket: Ticket, notes: LoopNotes, connections: Connections
    ) {
        self.start = start
        self.ticket = ticket
        self.notes = notes
        self.connections = connections
        hop = Hop(url: url, start)
        exchange = Exchange(timeout: start.request.terms.connectSpan, now: notes.now)
    }

    var request: TransferRequest { start.request }
    var sink: any TransferSink { start.sink }

    /// The condition of the hop's request; nil if its URL is not the one that gave the validators.
    var condition: TransferRequest.Condition? {
        request.condition.flatMap { $0.isFor(hop.url.bare, hop.via.isEmpty) ? $0 : nil }
    }

    /// The body that the hop's request resumes; nil if its URL is not the one that sent the first part.
    var resumption: TransferRequest.Resumption? {
        request.resumption.flatMap { $0.location == hop.url.bare ? $0 : nil }
    }

    func begin(on handle: EasyHandle) {
        self.handle = handle
        endedCleanly = false
        isLimited = false
        exchange = Exchange(timeout: request.terms.connectSpan, now: notes.now)
        guard !hasStarted else { return }
        hasStarted = true
        firstStart = notes.now
        end = request.terms.options.maxTime.map { notes.now + $0 } ?? .distantFuture
    }

    /// Extends the time limit by a span in which the transfer rested.
    func rested(_ span: Duration) { end = end + span }

    /// Notes that a host refused the request for a limit, and rests until that time. Returns how long the transfer rests, or nil
    /// if it ends.
    func limited(until hostRest: MonotonicTime, asked: Duration?, _ most: Duration?) -> Duration? {
        let span = limitedRests.add(until: hostRest, asked: asked, now: notes.now, before: end, most)
        isLimited = span != nil
        return span
    }

    /// Whether no request of the transfer is under way, and none was made that was not refused for a limit.
    var isWaiting: Bool { !hasStarted || isLimited }

    /// The number of times that the request was made, see `EndedTransfer.requests`.
    var requests: Int { hasStarted ? limitedRests.count + (isLimited ? 0 : 1) : 0 }

    /// Returns the error that the transfer ends with in place of its next hop.
    func refusal(now: MonotonicTime) -> TransferError? {
        if end <= now, let limit = request.terms.options.maxTime { return .maxTimeExceeded(limit) }
        return host?.refusal(of: ticket, now: now)
    }

    /// The next time limit. Without a handle or a question, only that of the whole transfer counts.
    var deadline: MonotonicTime { min(end, question?.deadline ?? (handle == nil ? .distantFuture : exchange.deadline)) }

    /// Returns the error for a time limit that has passed; nil if none has.
    func overdue(now: MonotonicTime) -> TransferError? {
        if end <= now, let limit = request.terms.options.maxTime { return .maxTimeExceeded(limit) }
        let timeout = request.terms.options.timeout ?? .nanoseconds(Int64.max)
        if let question { return question.deadline <= now ? .undecided(after: timeout) : nil }
        guard handle != nil, exchange.deadline <= now, !uploadMoves() else { return nil }
        return isConnected ? .stalled(host: peer, after: timeout) : .connectTimeout(host: peer)
    }

    private var isConnected: Bool { exchange.phase != .connecting || (handle?.failure.pre_transfer ?? 0) > 0 }

    /// Ends the hop with libcurl's result, or with the error of a time limit, and returns the next step.
    func conclude(_ code: CURLcode, overdue: TransferError?) -> Outcome {
        guard let handle else { return .answer(.failure(.cancelled)) }
        if exchange.awaitsDisposition, code == CURLE_OK, overdue == nil {
            exchange.isComplete = true
            return .wait
        }
        let facts = handle.facts
        // A failed attempt at another address leaves its errno and its error text in the handle.
        endedCleanly = code == CURLE_OK && overdue == nil && facts.os_errno == 0
        count(facts)
        if let cause = exchange.cause { return outcome(of: cause) }
        // The place was given away during the lookup. The name is known now, and the hop waits for a place.
        if ticket.isAside, exchange.hasResolved, overdue == nil { return .follow(hop) }
        if let (head, target) = exchange.redirect {
            let redirect = Redirect(
                head, to: target, address: exchange.connection?.remote ?? handle.remoteAddress)
            return follow(hop.following(to: target, by: redirect, request.terms), after: head)
        }
        if let overdue { return .answer(.failure(overdue)) }
        guard code == CURLE_OK else {
            if let again = repetition(after: code, facts: facts) { return .follow(again) }
            return outcome(of: failure(code, facts: facts, handle: handle))
        }
        guard let head = exchange.head else { return .answer(.failure(.emptyReply)) }
        if let expected = head.contentLength, expected != exchange.received {
            return .answer(.failure(.truncated(expected: expected, got: exchange.received)))
        }
        if let inflater = exchange.inflater {
            do throws(TransferError) { try inflater.finish(sink) } catch { return .answer(.failure(error)) }
        }
        progress?.finish(exchange.received)
        metrics.spans.total = MonotonicTime.now.nanoseconds - firstStart.nanoseconds
        metrics.receivedBytes = exchange.received
        metrics.protocolName = head.protocolName
        metrics.remoteAddress = exchange.connection?.remote ?? handle.remoteAddress
        metrics.redirects = hop.via.count
        return .answer(.success(TransferResponse(head: head, metrics: metrics)))
    }

    private func failure(_ code: CURLcode, facts: kf_easy_facts, handle: EasyHandle) -> TransferError {
        let origin = hop.url.origin
        if let address = exchange.refusedAddress, exchange.phase == .connecting {
            return .privateAddress(host: origin.authority, address: address)
        }
        let detail = handle.errorDetail(for: code)
        if endedStream(code), !CurlFailure.isAlert(detail) { return .streamEnded }
        let failure = handle.failure
        if failure.proxy_status >= 300 { return .proxyStatus(Int(failure.proxy_status)) }
        if code == CURLE_OPERATION_TIMEDOUT { return .connectTimeout(host: peer) }
        // libcurl passes a response without a status line to no callback.
        let phase = exchange.phase == .connecting && failure.pre_transfer > 0 ? .head : exchange.phase
        // An https proxy has a handshake and a certificate of its own.
        let host = proxy?.lowercased().hasPrefix("https://") == true ? peer : origin.authority
        let verifyResult = host == origin.authority ? failure.verify_result : failure.proxy_verify_result
        return CurlFailure(
            code: code, detail: detail, phase: phase, scheme: origin.scheme, host: host,
            osErrno: Int32(truncatingIfNeeded: facts.os_errno), verifyResult: Int(verifyResult),
            expected: exchange.head?.contentLength, received: exchange.received, proxy: proxyPlace.map(String.init)
        ).error
    }

    /// The proxy that the request goes to, from the options or the environment.
    private var proxy: String? {
        let options = request.terms.options
        guard let proxy = options.proxy else {
            let environment = ProxyEnvironment(noProxy: options.noProxy)
            return options.usesEnvironmentProxies ? environment.proxy(for: hop.url.origin) : nil
        }
        let isExcepted = ProxyEnvironment(noProxy: options.noProxy ?? "").isExcepted(hop.url.origin.host)
        return proxy.isEmpty || isExcepted ? nil : proxy
    }

    /// The peer that a message about silence names: the origin, or the proxy until it has made a tunnel. Without a tunnel,
    /// every byte is the proxy's.
    private var peer: String {
        let origin = hop.url.origin
        guard let proxy, (handle?.failure.proxy_status ?? 0) == 0 else { return origin.authority }
        let hasTunnel = origin.isSecure || proxy.lowercased().hasPrefix("socks")
        if hasTunnel, isConnected { return origin.authority }
        return "the proxy \(proxyPlace ?? "")"
    }

    /// The host of the proxy, with the port that its URL names.
    private var proxyPlace: Substring? {
        guard let proxy else { return nil }
        let place = proxy.lastIndex(of: "@").map { proxy[$0...].dropFirst() } ?? proxy[...]
        let start = place.firstRange(of: "://")?.upperBound ?? place.startIndex
        return place[start...].prefix { $0 != "/" }
    }

    /// Adds the times of a hop. libcurl counts every phase from the start of the hop.
    private func count(_ facts: kf_easy_facts) {
        metrics.newConnections += Int(facts.new_connections)
        metrics.spans.firstByte = facts.first_byte &* 1000
        guard facts.new_connections > 0 else { return }
        metrics.spans.dns += facts.name_lookup &* 1000
        metrics.spans.connect += max(0, facts.connect - facts.name_lookup) &* 1000
        metrics.spans.tls += max(0, facts.tls - facts.connect) &* 1000
    }
}
