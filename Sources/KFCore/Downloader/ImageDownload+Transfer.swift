import KFNetwork
import KFStorage

extension ImageDownload {
    /// Makes the request, and once more from the start when the rest of a body cannot be had. Without `resumes`, from
    /// the start at once. Nil when another process has made it and stored what came.
    func transfer(
        _ request: PreparedRequest, resumes: Bool
    ) async throws(KingfisherError) -> Transferred? {
        var partial = resumes ? try await resumable(identity) : nil
        var waits = false
        while true {
            if waits, let gate {
                waits = false
                if case .stored = try await gate.wait(options, rests) { return nil }
                if resumes { partial = try await resumable(identity) }
            }
            let resumption = partial.map {
                TransferRequest.Resumption(
                    offset: $0.object.size, validator: $0.facts.validator, location: $0.facts.location,
                    contentType: $0.facts.contentType, total: $0.facts.total)
            }
            let sink = BodySink(
                store, url: url.text, request: identity, resumed: partial?.object, tap: options.onDataReceived)
            // The sink alone holds the file: when the whole body comes instead, a new one takes its place.
            partial = nil
            do {
                let response = try await transport.perform(transferRequest(request, resumption), sink: sink)
                circuits.noteAnswer(from: request.url.host)
                return .body(sink, response)
            } catch {
                // A personal body is for nobody else to go on with. Another process that is waited for may go on with
                // what is there.
                await letGo(sink, keeping: error.leavesBodyResumable && !isPersonal.isSet)
                if resumption != nil, error.refusesRange { continue }
                note(error, request.url)
                gate?.leave()
                if case .notAdmitted = error, let gate {
                    if gate.isStored { return nil }
                    waits = true
                    continue
                }
                if case .httpStatus(_, let head) = error { return .refused(ResponseFacts(head)) }
                throw KingfisherError(transfer: error)
            }
        }
    }

    /// What a failed transfer has brought is kept or removed.
    func letGo(_ sink: BodySink, keeping keeps: Bool) async {
        guard let store, sink.hasFile else { return }
        await store.cache.blocking.run {
            sink.end(keeping: keeps)
            if keeps { store.cache.makeRoom() }
        }
    }

    private func resumable(_ digest: Digest) async throws(KingfisherError) -> (
        object: StagedObject, facts: PartialFacts
    )? {
        guard let store, store.cache.mayHavePartials else { return nil }
        return await store.cache.blocking.run {
            // What cannot be resumed comes anew.
            let taken = Result { () throws(StorageError) in try store.take(digest) }
            if case .success(let found) = taken { return found }
            return nil
        }
    }

    private func transferRequest(
        _ request: PreparedRequest, _ resumption: TransferRequest.Resumption?
    ) -> TransferRequest {
        var transfer = TransferRequest(
            url: request.url.text, headers: request.headers, options: transferOptions(request))
        transfer.priority = wishes.priority
        if let resumption {
            transfer.resumption = resumption
        } else if let condition {
            transfer.headers += condition.headers
            transfer.isConditional = true
        }
        let control = TransferControl()
        wishes.onPriorityChange { control.setPriority($0) }
        transfer.control = control
        transfer.gate = gate
        transfer.hooks = hooks(request.url)
        return transfer
    }

    private func transferOptions(_ request: PreparedRequest) -> TransferOptions {
        var transfer = TransferOptions()
        transfer.timeout = options.timeout
        transfer.maxTime = options.maxTime
        transfer.maxRedirects = options.maxRedirects
        transfer.maxBytes = options.maxBytes
        transfer.userAgent = options.userAgent
        transfer.credentials = request.credentials.map { .init(user: $0.user, password: $0.password) }
        transfer.netrc = options.netrcFile.map { $0.isEmpty ? .standard : .file($0) } ?? .none
        transfer.proxy = options.proxy
        transfer.caFile = options.caFile
        transfer.trustedHosts = options.trustedHosts
        transfer.forceHTTP11 = options.forcesHTTP11
        transfer.denyPrivate = options.deniesPrivateAddresses
        if acceptsEverySuccess { transfer.acceptedStatus = ResponseStatus.bringingImages }
        if let delegate {
            let brings = (200...299).filter { $0 != 206 } + Array(400...599)
            transfer.acceptedStatus = Set(brings.filter { delegate.isValidStatusCode($0) })
        }
        return transfer
    }

    private func hooks(_ url: RequestURL) -> TransferHooks {
        var hooks = TransferHooks()
        hooks.pause = { head in Self.pause(head) }
        hooks.progress = { [wishes, gate] received, total in
            gate?.note(bytes: received)
            wishes.report(received, total)
        }
        if let delegate {
            hooks.response = { head in
                let facts = ResponseFacts(head)
                switch await delegate.imageDownloader(didReceive: facts, for: url) {
                case .allow: return .allow
                case .cancel: return .cancel
                }
            }
        }
        if let handler = options.redirectHandler {
            hooks.redirect = { [isPersonal] head, proposed in
                guard let next = try? RequestURL(proposed.url), let from = try? RequestURL(head.effectiveURL) else {
                    // What is no URL for us is for the engine to refuse.
                    return proposed
                }
                let request = ImageDownloadRequest(url: next, headers: proposed.headers)
                let answer = await handler.handleRedirection(status: head.status, from: from, newRequest: request)
                guard let answer, let target = answer.url else { return nil }
                if handler.cacheIdentity == nil,
                    target != next || !RequestIdentity.isSame(answer.headers, proposed.headers)
                {
                    isPersonal.set()
                }
                return .init(url: target.text, headers: answer.headers)
            }
        }
        if let responder {
            hooks.challenge = { [isPersonal] challenge in
                let answer = await responder.answer(to: DownloadChallenge(challenge))
                switch answer {
                case .useCredential, .trust: if responder.cacheIdentity == nil { isPersonal.set() }
                case .performDefaultHandling: break
                }
                switch answer {
                case .useCredential(let credentials):
                    return .credentials(.init(user: credentials.user, password: credentials.password))
                case .trust: return .trust
                case .performDefaultHandling: return .reject
                }
            }
        }
        return hooks
    }

    /// How long the server wants to be left alone.
    private static func pause(_ head: ResponseHead) -> Duration? {
        guard head.status == 429 || head.status == 503, let value = head.headers["retry-after"] else { return nil }
        return RetryAfter.span(value, now: .now()).flatMap { $0 > .zero ? $0 : nil }
    }

    /// What a failure says of its host.
    private func note(_ error: TransferError, _ url: RequestURL) {
        if case .httpStatus(let status, let head) = error {
            // The host that answered was paused at once, by the hook; the one that sent us there may be another.
            if let span = Self.pause(head) { transport.pause(host: url.host, for: span) }
            if (500...599).contains(status), status != 503 || head.headers["retry-after"] == nil {
                circuits.noteFailure(of: url.host)
            } else {
                circuits.noteAnswer(from: url.host)
            }
            return
        }
        switch error {
        case .cancelled, .cancelledByHook, .notAdmitted, .undecided, .sink, .invalidURL, .unsupportedScheme,
            .invalidRequestHeader,
            .libraryMissing, .engine, .environmentProxyRefused:
            circuits.noteCancellation(of: url.host)
        case _ where error.isRetryable: circuits.noteFailure(of: url.host)
        case .tls: circuits.noteFailure(of: url.host)
        default: circuits.noteAnswer(from: url.host)
        }
    }
}

extension DownloadChallenge {
    fileprivate init(_ challenge: AuthenticationChallenge) {
        host = challenge.host
        switch challenge.kind {
        case .password(_, let realm): kind = .password(realm: realm)
        case .certificate(let failure): kind = .serverTrust(problem: failure.description)
        }
    }
}

extension TLSFailure {
    /// What is wrong with the certificate.
    fileprivate var description: String {
        switch self {
        case .expired: "it has expired"
        case .notYetValid: "it is not valid yet"
        case .selfSigned: "it is self-signed"
        case .wrongHost: "it is for another host"
        case .unknownAuthority: "it is from an unknown authority"
        case .other: "it cannot be checked"
        }
    }
}

extension Duration {
    /// "42 s"; at least one.
    var rounded: String { "\(max(1, components.seconds + (components.attoseconds > 0 ? 1 : 0))) s" }
}
