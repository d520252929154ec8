extension Transfer {
    /// Returns the outcome of a failure: a question to the challenge hook if that may help, else the error.
    func outcome(of error: TransferError) -> Outcome {
        if wantsCertificate(after: error) { return ask(.clientCertificate, .certificate, instead: error) }
        return switch error {
        case .httpStatus(401, let head): passwordWanted(head, error)
        case .tls(let failure, hop.url.origin.authority, _): certificateRefused(failure, error)
        default: .answer(.failure(error))
        }
    }

    /// Returns whether the failure may result from a missing client certificate, which the server has requested.
    ///
    /// The request is remembered per host, because the server does not repeat it on a reused connection.
    private func wantsCertificate(after error: TransferError) -> Bool {
        guard hop.url.origin.isSecure, hop.scope.clientCertificate == nil, let host,
            !hop.challenges.contains(.init(subject: .certificate, origin: hop.url.origin))
        else { return false }
        if handle?.wantsCertificate == true { host.wantsCertificate = true }
        guard host.wantsCertificate else { return false }
        return switch error {
        // 495 and 496 are nginx's own codes for a wrong or missing client certificate.
        case .httpStatus(let status, _): [400, 401, 403, 495, 496].contains(status)
        case .tls(.other, _, _), .connect, .connectionLost: true
        default: false
        }
    }

    private func certificateRefused(_ failure: TLSFailure, _ error: TransferError) -> Outcome {
        // Other failures are not the certificate's fault, so trusting it would not help.
        guard failure != .other else { return .answer(.failure(error)) }
        return ask(.serverTrust(problem: "it \(failure.problem)"), .trust, instead: error)
    }

    func ask(
        _ kind: DownloadChallenge.Kind, _ subject: Hop.Challenge.Subject,
        scheme: DownloadChallenge.Scheme? = nil, instead error: TransferError
    ) -> Outcome {
        let origin = hop.url.origin
        guard let hook = request.hooks.challenge,
            hop.challenges.insert(.init(subject: subject, origin: origin)).inserted
        else {
            return .answer(.failure(error))
        }
        let challenge = DownloadChallenge(kind, host: origin.authority, scheme: scheme)
        return .ask {
            let answer = await hook(challenge)
            return { $0.again(with: answer, to: kind, instead: error) }
        }
    }

    /// Follows a redirect, if its hook agrees.
    func follow(_ next: Hop, after head: ResponseHead) -> Outcome {
        guard let hook = request.hooks.redirect else { return .follow(next) }
        let proposed = TransferHooks.ProposedRequest(url: next.url.bare, headers: next.scope.headers)
        return .ask {
            let request = await hook(head, proposed)
            return { transfer in
                guard let request else { return .answer(.failure(.redirectRefused(status: head.status))) }
                return transfer.redirect(as: request, instead: next)
            }
        }
    }

    private func redirect(as request: TransferHooks.ProposedRequest, instead proposed: Hop) -> Outcome {
        var next = proposed
        var headers = request.headers
        if request.url != proposed.url.bare {
            let terms = self.request.terms
            let target: TransferURL
            do throws(TransferError) {
                target = try HeadReview.target(request.url, from: hop.url, after: hop.via.count, terms)
            } catch {
                return .answer(.failure(error))
            }
            guard let redirect = proposed.via.last else { return .answer(.failure(.invalidRedirect)) }
            next = hop.following(to: target, by: redirect.leading(to: target), terms)
            let allowed = next.scope.headers
            // Headers that the hook passed on unchanged were meant for the origin that the server named.
            headers.removeAll { header in
                proposed.scope.headers.contains { $0 == header } && !allowed.contains { $0 == header }
            }
        }
        next.scope.headers = headers
        return .follow(next)
    }

    private func again(
        with answer: DownloadChallengeAnswer, to challenge: DownloadChallenge.Kind, instead error: TransferError
    ) -> Outcome {
        var next = hop
        switch (challenge, answer) {
        case (.password, .useCredential(let credentials)):
            next.scope.credentials = credentials
            // Those of the URL, which come first, were refused.
            next.url.text = next.url.bare
        case (.serverTrust, .trust): next.isTrusted = true
        case (.clientCertificate, .useClientCertificate(let certificate)): next.scope.clientCertificate = certificate
        case (_, .cancel): return .answer(.failure(.cancelledByHook))
        // Without a client certificate, the server may still accept a password.
        case (.clientCertificate, _): return outcome(of: error)
        default: return .answer(.failure(error))
        }
        return .follow(next)
    }

    /// Passes the head to the sink, once the response hook has allowed that.
    func allowed() -> Outcome {
        exchange.awaitsDisposition = false
        guard let head = exchange.head, beginSink(head) else {
            return .answer(.failure(exchange.cause ?? .cancelled))
        }
        exchange.restartWindow(timeout: request.terms.timeoutSpan, now: notes.now)
        notes.nextDeadline = min(notes.nextDeadline, deadline)
        return .proceed
    }
}
