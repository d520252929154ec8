import CCurl
import Glibc
import KFSystem

extension Transfer {
    /// Sets up a handle for the current hop. The transfer must stay alive while the handle is in the multi handle.
    func configure(_ handle: EasyHandle, receiveBufferSize: Int) throws(TransferError) {
        let proof = try proof()
        let terms = terms(proof)
        if let terms, handle.isReady(for: terms) {
            try handle.clearMarks()
        } else {
            let setup = try setup(proof, receiveBufferSize: receiveBufferSize)
            if handle.isReady(for: setup) {
                try handle.clearMarks()
            } else {
                try handle.setUp(setup, callbacks: Reactions.all)
            }
            handle.remember(terms)
        }
        var headers = condition.map { hop.scope.headers + $0.headers } ?? hop.scope.headers
        if case .digest(let value) = proof { headers.append(("Authorization", value)) }
        let head = RequestHead(method: request.method, headers: headers, resumption: resumption)
        if !handle.isReady(for: head) {
            let lines = try Hop.headerLines(head, signing: request.signing)
            try handle.setUp(head, lines: lines, callbacks: Reactions.all)
        }
        if request.method == .put { try handle.setBodySize(request.body?.size ?? 0) }
        if watchesCertificateRequests { try handle.watchCertificateRequests() }
        if hop.wantsOwnConnection || host?.reusesConnections(now: notes.now) == false { handle.connectAnew() }
        try handle.set(hop.url)
        handle.context = Unmanaged.passUnretained(self).toOpaque()
    }

    /// Whether the challenge hook could supply a client certificate if the server requests one.
    private var watchesCertificateRequests: Bool {
        request.hooks.challenge != nil && hop.url.origin.isSecure && hop.scope.clientCertificate == nil
    }

    /// The terms that determine the handle's setup; nil if it depends on more.
    private func terms(_ proof: Proof) -> HandleSetup.Terms? {
        if case .basic = proof { return nil }
        guard hop.scope.clientCertificate == nil, !request.terms.options.deniesPrivateAddresses else { return nil }
        let isSecure = hop.url.origin.isSecure
        return HandleSetup.Terms(
            terms: request.terms, signing: request.signing, isSecure: isSecure, isTrusted: isSecure && hop.isTrusted)
    }

    private func setup(_ proof: Proof, receiveBufferSize: Int) throws(TransferError) -> HandleSetup {
        let options = request.terms.options
        let isSecure = hop.url.origin.isSecure
        if !FieldText.isValue(options.userAgent) { throw .invalidRequestHeader(name: "User-Agent") }
        if let signing = request.signing, !signing.isSendable { throw .invalidRequestHeader(name: "Authorization") }
        let (proxy, noProxy) = try proxies()
        let password: Credentials? = if case .basic(let password) = proof { password } else { nil }
        return HandleSetup(
            options: options, version: options.forcesHTTP11 ? .http11 : isSecure ? .overTLS : .any,
            connectMilliseconds: connectMilliseconds, receiveBufferSize: receiveBufferSize,
            signing: request.signing, credentials: password, clientCertificate: hop.scope.clientCertificate,
            isTrusted: isSecure && hop.isTrusted, proxy: proxy, noProxy: noProxy)
    }

    private func proxies() throws(TransferError) -> (proxy: String?, noProxy: String?) {
        let options = request.terms.options
        guard options.deniesPrivateAddresses else {
            if let proxy = options.proxy { return (proxy, options.noProxy ?? "") }
            return options.usesEnvironmentProxies ? (nil, options.noProxy) : ("", nil)
        }
        let origin = hop.url.origin
        if let literal = IPAddress(origin.host), !literal.isPublic {
            throw .privateAddress(host: origin.authority, address: literal.description)
        }
        if options.proxy == nil, options.usesEnvironmentProxies,
            let variable = ProxyEnvironment(noProxy: options.noProxy).variable(for: origin)
        {
            throw .environmentProxyRefused(variable: variable)
        }
        // With a proxy, the socket's address is not checked, so exceptions from the proxy are not allowed.
        return (options.proxy ?? "", "")
    }

    private var connectMilliseconds: Int {
        // libcurl reads 0 as its default of 300 s, and computes in milliseconds of type long.
        Int(max(1, min(Int64(Int32.max), request.terms.connectSpan / 1_000_000)))
    }
}

/// libcurl's callbacks, whose context is the handle. The loop keeps the transfer alive while it is in the multi handle.
private enum Reactions {
    static let all = CurlCallbacks(
        header: header, body: body, openSocket: openSocket, beforeRequest: beforeRequest,
        read: { buffer, _, count, context in
            let room = UnsafeMutableRawBufferPointer(start: buffer, count: count)
            let transfer = Reactions.transfer(context)
            return transfer._withUnsafeGuaranteedRef { $0.supplyBody(room) } ?? Int(CURL_READFUNC_ABORT)
        },
        seek: { context, offset, origin in
            guard origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
            let isValid = Reactions.transfer(context)._withUnsafeGuaranteedRef { $0.seekBody(to: Int64(offset)) }
            return isValid ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
        })

    static let header: kf_bytes_fn = { bytes, _, count, context in
        let line = UnsafeRawBufferPointer(start: bytes, count: count)
        return Reactions.transfer(context)._withUnsafeGuaranteedRef { $0.receiveHeader(line) } ? count : 0
    }

    static let body: kf_bytes_fn = { bytes, _, count, context in
        let chunk = UnsafeRawBufferPointer(start: bytes, count: count)
        switch Reactions.transfer(context)._withUnsafeGuaranteedRef({ $0.receiveBody(chunk) }) {
        case .taken: return count
        case .pause: return Int(CURL_WRITEFUNC_PAUSE)
        case .end: return 0
        }
    }

    static let openSocket: kf_socket_fn = { context, _, address in
        let bad = curl_socket_t(-1)
        guard let address else { return bad }
        let (family, type, proto) = (address.pointee.family, address.pointee.socktype, address.pointee.protocol)
        let length = Int(address.pointee.addrlen)
        let ip = withUnsafePointer(to: &address.pointee.addr) { IPAddress($0, length: length) }
        let transfer = Reactions.transfer(context).takeUnretainedValue()
        guard transfer.allows(ip) else { return bad }
        let opened = socket(family, type | Int32(SOCK_CLOEXEC.rawValue), proto)
        if opened >= 0 { transfer.opened(opened) }
        return opened
    }

    static let beforeRequest: kf_prerequest_fn = { context, remote, _, remotePort, localPort in
        guard let remote else { return 1 }  // CURL_PREREQFUNC_ABORT
        let ports = Connections.Ports(
            remote: UInt16(truncatingIfNeeded: remotePort), local: UInt16(truncatingIfNeeded: localPort))
        return Reactions.transfer(context)._withUnsafeGuaranteedRef { $0.mayUse(remote, ports) } ? 0 : 1
    }

    /// Returns the handle's transfer. The loop retains it, so callbacks need not.
    private static func transfer(_ context: UnsafeMutableRawPointer?) -> Unmanaged<Transfer> {
        Unmanaged<Transfer>.fromOpaque(EasyHandle.context(of: context!)!)
    }
}

/// The checks of the connection that libcurl has chosen for a transfer.
extension Transfer {
    func opened(_ socket: Int32) {
        exchange.openedSockets.append(socket)
        connections.opened(socket)
    }

    /// Returns whether the request may be sent over the connection with these addresses.
    func mayUse(_ remote: UnsafePointer<CChar>, _ ports: Connections.Ports) -> Bool {
        noteResolved()
        guard let handle, !ticket.isAside else { return false }
        // An existing connection may have been opened for a transfer that did not deny private addresses.
        if request.terms.options.deniesPrivateAddresses, !allows(IPAddress(String(cString: remote))) { return false }
        if handle.wantsCertificate { host?.wantsCertificate = true }
        let isMultiplexed = kf_easy_is_multiplexed(handle.pointer)
        let known = connections.find(remote, ports)
        // libcurl repeats a request whose connection or stream has ended, up to five times. Over a new HTTP/1 connection
        // it gives up when that ends too. Other repetitions are the engine's: see `repetition`. A stream that may be
        // repeated goes on at once.
        if exchange.requests > 0, isMultiplexed || known != nil {
            guard isMultiplexed, let again = restartedStream() else {
                exchange.refusedConnection = !isMultiplexed
                return false
            }
            hop = again
        }
        // libcurl's next repetition then opens a connection. libcurl 7.88 resets a stream that is refused here, although it
        // has no number yet, and for that a server may end the connection, with the streams of others.
        if isMultiplexed, exchange.requests > 0 || known == nil { handle.connectAnew() }
        exchange.isMultiplexed = isMultiplexed
        exchange.requests += 1
        exchange.taken = 0
        if request.terms.connectSpan != request.terms.timeoutSpan { endConnecting() }
        exchange.connection = known ?? connections.name(remote, ports, opened: exchange.openedSockets)
        exchange.connection?.requests += 1
        guard let known else { return true }
        // HTTP/2 frames may come at any time. On HTTP/1, libcurl 7.88 would take stray input for the response.
        guard !exchange.isMultiplexed, let host else { return true }
        let input = kf_easy_input(handle.pointer, known.socket)
        if input == KF_INPUT_BYTES { host.reuseStart = .distantFuture }
        let hasRested = known.idleSince.advanced(nanoseconds: Scheduler.observation) <= notes.now
        if input == KF_INPUT_NONE, hasRested { host.isProven = true }
        exchange.refusedConnection = input != KF_INPUT_NONE || !host.isProven
        if exchange.refusedConnection { exchange.requests -= 1 }
        return !exchange.refusedConnection
    }

    /// Starts the stall timer, which has another limit than connecting.
    private func endConnecting() {
        exchange.restartWindow(timeout: request.terms.timeoutSpan, now: notes.now)
        notes.nextDeadline = min(notes.nextDeadline, deadline)
    }

    /// Decides, at the end of a head, whether the connection can be reused after the body.
    func settleConnection(status: StatusLine, fields: HeaderFields) {
        guard let handle, let host else { return }
        guard host.reusesConnections(now: notes.now), connections.keeps(waiting: host.waiting) else {
            return handle.closeAfterwards()
        }
        guard !exchange.isMultiplexed else { return }
        let hasNoBody = status.hasNoBody || request.method == .head
        if hasNoBody || (fields.plainNumber(.contentLength) ?? 0) == 0 { handle.closeOnExcess() }
        exchange.offersConnection =
            status.protocolName == "HTTP/1.1" && (hasNoBody || fields.delimitBody)
            && !fields.contains(.connection, letters: "close")
    }

    /// Returns, after the transfer, whether libcurl kept the reusable connection (true) or closed it because bytes
    /// followed the response (false). Nil if neither is known.
    func leaveConnection() -> Bool? {
        guard endedCleanly, exchange.offersConnection, exchange.requests > 0 else { return nil }
        guard let connection = exchange.connection, connection.isOpen else { return false }
        connection.idleSince = notes.now
        return true
    }

    /// Returns the hop for another try that no retry strategy counts, or nil if the failure counts.
    ///
    /// A request that was kept from a connection did not reach the server. One over a kept HTTP/1 connection may have
    /// crossed the connection's end, so it is made once more, over a new connection.
    func repetition(after code: CURLcode, facts: kf_easy_facts) -> Hop? {
        if exchange.refusedConnection, code == CURLE_ABORTED_BY_CALLBACK {
            return hop.restarted(anew: hop.restarts > 0 || exchange.requests > 0)
        }
        if endedStream(code) { return restartedStream() }
        guard lostConnection(code), !exchange.isMultiplexed, facts.new_connections == 0 else { return nil }
        return hop.restarted(anew: true)
    }

    /// Returns whether the server ended the HTTP/2 stream without a response: with RST_STREAM, GOAWAY, or its connection.
    /// libcurl would repeat the request itself if `mayUse` allowed it.
    func endedStream(_ code: CURLcode) -> Bool {
        exchange.isMultiplexed
            && (lostConnection(code) || code == CURLE_ABORTED_BY_CALLBACK && exchange.phase == .connecting)
    }

    /// Returns the hop for another try after its HTTP/2 stream has ended, or nil if the failure counts.
    ///
    /// Servers end a connection after a number of requests, or as soon as it is idle, and with it the streams that have
    /// just begun. Those go on over another shared connection. If the server ends that one too, each transfer of the host
    /// gets a connection of its own for a while.
    private func restartedStream() -> Hop? {
        guard hasCompany, let again = hop.restarted(anew: hop.restarts > 0) else { return nil }
        if again.wantsOwnConnection { host?.separate(now: notes.now) }
        return again
    }

    /// Whether the connection has carried other requests too, so that its end says nothing about this one.
    var hasCompany: Bool { (exchange.connection?.requests ?? 0) > 1 }

    private func lostConnection(_ code: CURLcode) -> Bool {
        guard exchange.phase == .connecting else { return false }
        switch code {
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_HTTP2,
            CURLE_HTTP2_STREAM:
            return true
        default: return false
        }
    }
}
