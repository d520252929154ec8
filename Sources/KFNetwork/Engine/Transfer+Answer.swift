extension Transfer {
    /// The result of receiving a piece of a body.
    enum Reception { case taken, pause, end }

    /// Receives a header line with its line end. Returns false to end the hop.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        if exchange.phase == .connecting { exchange.phase = .head }
        noteResolved()
        guard exchange.cause == nil else { return exchange.phase == .draining }
        exchange.progress(line.count, notes: notes)
        do throws(TransferError) {
            guard let (status, fields) = try exchange.parser.accept(line) else { return true }
            settleConnection(status: status, fields: fields)
            return try review(status: status, fields: fields)
        } catch {
            return refuse(error)
        }
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Reception {
        if exchange.phase == .body, exchange.awaitsDisposition {
            exchange.isPaused = true
            return .pause
        }
        if notes.allowance <= 0, exchange.phase == .body {
            exchange.isPaused = true
            notes.throttled.append(ticket.id)
            return .pause
        }
        return take(bytes) ? .taken : .end
    }

    /// Ends the pause of a body that came before the response hook decided. Returns whether libcurl must resume it.
    func unpause() -> Bool {
        defer { exchange.isPaused = false }
        return exchange.isPaused
    }

    private func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        exchange.received += Int64(bytes.count)
        if notes.allowance != .max { notes.allowance -= Int64(bytes.count) }
        switch exchange.phase {
        case .body:
            exchange.progress(bytes.count, notes: notes)
            sink.arrived(bytes.count)
            guard exchange.received <= bodyLimit else {
                return refuse(.tooLarge(limit: request.terms.options.maxBytes))
            }
            // libcurl enforces a Content-Length, but not the range that a chunked 206 announces.
            if let length = exchange.head?.contentLength, exchange.received > length {
                return refuse(.badHeaders(detail: "the body is longer than its Content-Range"))
            }
            do throws(TransferError) {
                if let inflater = exchange.inflater {
                    try inflater.receive(bytes, sink)
                } else {
                    try sink.take(bytes)
                }
                progress?.received(exchange.received, now: notes.now)
                return true
            } catch {
                return refuse(error)
            }
        case .draining:
            if exchange.cause != nil { request.hooks.refusal?(bytes) }
            return exchange.received <= Exchange.drainedBytes
        case .connecting: return refuse(.notHTTP1(bytes))
        case .head: return refuse(.protocolError(detail: "a body before its head"))
        }
    }

    /// Returns whether a socket may be opened to the address.
    func allows(_ address: IPAddress?) -> Bool {
        noteResolved()
        guard !ticket.isAside else { return false }
        // The address of a proxy from the options is trusted. Under deniesPrivateAddresses no other proxy is used.
        guard request.terms.options.deniesPrivateAddresses, request.terms.options.proxy == nil else { return true }
        guard let address, address.isPublic else {
            exchange.refusedAddress = address?.description ?? "an address of another family"
            return false
        }
        return true
    }

    private var bodyLimit: Int64 { request.terms.options.maxBytes - bytesBefore }

    /// The number of bytes that a resumed body had before; 0 if the body was sent whole.
    private var bytesBefore: Int64 { exchange.head?.status == 206 ? request.resumption?.offset ?? 0 : 0 }

    /// Records that the name lookup of the hop is over.
    func noteResolved() {
        guard !exchange.hasResolved else { return }
        exchange.hasResolved = true
        notes.resolved.append(ticket.id)
    }

    private func refuse(_ error: TransferError) -> Bool {
        exchange.cause = error
        return false
    }

    private func review(status: StatusLine, fields: HeaderFields) throws(TransferError) -> Bool {
        if hop.digest.nonce != nil, let nonce = PasswordChallenges.nextNonce(fields.all("authentication-info")) {
            notes.passwords.note(nextNonce: nonce, hop.url.origin)
        }
        let terms = HeadReview.Terms(
            method: request.method, isSigned: request.signing != nil, transfer: request.terms,
            isConditional: status.status == 304 && condition != nil,
            resumption: status.status == 206 ? resumption : nil,
            redirects: hop.via.count)
        switch try HeadReview(status: status, fields: fields, from: hop.url, terms: terms) {
        case .deliver(let framing): return deliver(head(status, fields, framing))
        case .follow(let target):
            let head = head(status, fields, .untilClose)
            if request.hooks.refusesRedirect?(head) == true { throw .redirectRefused(status: status.status) }
            exchange.redirect = (head, target)
            exchange.drain(notes: notes)
            return true
        case .fail:
            // The framing of a refused head may itself be malformed.
            let framing = (try? BodyFraming(fields: fields, isHTTP2: status.protocolName == "HTTP/2")) ?? .untilClose
            let head = head(status, fields, framing)
            exchange.cause = .httpStatus(head.status, head)
            // An error page is usually small; reading it keeps the connection.
            guard isDrainable(framing) else { return false }
            exchange.drain(notes: notes)
            return true
        }
    }

    /// Returns whether the body of an error is read, so that the connection can be reused. S3 sends chunked errors.
    private func isDrainable(_ framing: BodyFraming) -> Bool {
        switch framing {
        case .length(let length): length <= Exchange.drainedBytes || request.method == .head
        case .chunked: true
        case .stream, .untilClose: request.method == .head
        }
    }

    private func head(_ status: StatusLine, _ fields: HeaderFields, _ framing: BodyFraming) -> ResponseHead {
        ResponseHead(
            status: status.status, protocolName: status.protocolName, reason: status.reason, headers: fields,
            framing: framing, effectiveURL: hop.url.bare, via: hop.via)
    }

    private func deliver(_ head: ResponseHead) -> Bool {
        exchange.head = head
        exchange.inflater = ContentCoding(head.headers).inflater(limit: request.terms.options.maxBytes)
        exchange.phase = .body
        exchange.received = 0
        if host?.state.isGrowing == true { notes.begun.append(ticket.id) }
        guard let hook = request.hooks.response else { return beginSink(head) }
        exchange.awaitsDisposition = true
        let question: Question = {
            let disposition = await hook(head)
            return { disposition == .allow ? $0.allowed() : .answer(.failure(.cancelledByHook)) }
        }
        notes.asking.append((ticket.id, question))
        return true
    }

    /// Passes the head to the sink. Returns false if the sink throws.
    func beginSink(_ head: ResponseHead) -> Bool {
        progress = ProgressReport(hooks: request.hooks, head: head, offset: bytesBefore)
        do throws(SinkError) {
            try sink.begin(head)
            return true
        } catch {
            return refuse(.sink(error))
        }
    }
}
