import KFNetwork
import KFStorage
import KFTerms
import Synchronization

/// The request for the engine.
extension ImageDownload {
    func transferRequest(
        _ request: PreparedRequest, _ resumption: TransferRequest.Resumption?, _ condition: RequestCondition?,
        _ reportsProgress: Bool, _ priority: Float
    ) -> TransferRequest {
        var transfer = TransferRequest(
            url: request.url.text, headers: request.scope.headers, terms: transferTerms(request))
        transfer.priority = priority
        if let resumption {
            transfer.resumption = resumption
        } else {
            transfer.condition = condition?.forTransfer
        }
        transfer.limits = limits
        transfer.gate = self
        setHooks(&transfer.hooks, request.url, reportsProgress)
        return transfer
    }

    /// Returns the facts for resuming the body, or nil if the response gives no basis for that. A response that a proxy
    /// transformed (203) is not the origin's.
    func partialFacts(of head: ResponseHead, at arrived: Timestamp) -> PartialFacts? {
        // A range counts encoded bytes, and the file holds decoded ones.
        guard head.status == 200, head.headers.all("content-encoding").isEmpty,
            let validator = StrongValidator.of(head.headers, now: arrived)
        else { return nil }
        let types = head.headers.all("content-type")
        guard types.count <= 1 else { return nil }
        return PartialFacts(
            url: url.text, location: head.effectiveURL, request: terms.digest(of: url), validator: validator,
            contentType: types.first, total: head.contentLength)
    }

    private func transferTerms(_ request: PreparedRequest) -> TransferTerms {
        let shared = terms.transfer
        let (credentials, certificate) = (request.scope.credentials, request.scope.clientCertificate)
        guard
            credentials != shared.options.credentials || certificate != shared.options.clientCertificate
                || delegate != nil
        else { return shared }
        var transfer = shared.options
        (transfer.credentials, transfer.clientCertificate) = (credentials, certificate)
        if let delegate {
            let brings = (200...299).filter { $0 != 206 } + Array(400...599)
            transfer.acceptedStatus = brings.filter { delegate.isValidStatusCode($0) }
        }
        return TransferTerms(transfer)
    }

    private func setHooks(_ hooks: inout TransferHooks, _ url: RequestURL, _ reportsProgress: Bool) {
        hooks.retryAfter = Self.retryAfter
        if terms.inspector.optOut != nil { hooks.refusesRedirect = { [unowned self] in refusal(of: $0) != nil } }
        if reportsProgress {
            hooks.progress = { [unowned self] received, total in
                table.report(received, total, of: self)
            }
        }
        if let delegate {
            hooks.response = { await delegate.imageDownloader(didReceive: ResponseFacts($0), for: url) }
        }
        if let handler = terms.request.redirectHandler {
            hooks.redirect = { [self] head, proposed in
                guard let next = try? RequestURL(proposed.url), let from = try? RequestURL(head.effectiveURL) else {
                    // The engine refuses URLs that kf cannot parse.
                    return proposed
                }
                let request = ImageDownloadRequest(url: next, headers: proposed.headers)
                let answer = await handler.handleRedirection(status: head.status, from: from, newRequest: request)
                guard let answer, let target = answer.url else { return nil }
                if handler.cacheIdentity == nil,
                    target != next || !RequestIdentity.isSame(answer.headers, proposed.headers)
                {
                    isPersonal.store(true, ordering: .relaxed)
                }
                return .init(url: target.text, headers: answer.headers)
            }
        }
        if let responder {
            hooks.challenge = { [self] challenge in
                let answer = await responder.answer(to: challenge)
                switch answer {
                case .useCredential, .trust, .useClientCertificate:
                    if responder.cacheIdentity == nil { isPersonal.store(true, ordering: .relaxed) }
                case .cancel, .performDefaultHandling: break
                }
                return answer
            }
        }
    }

    /// The delay that a 429 or 503 response asks for in Retry-After, however long: an image does not wait in vain.
    private static let retryAfter: @Sendable (ResponseHead) -> Duration? = { head in
        RetryAfter.rest(status: head.status, value: head.headers["retry-after"], limit: .seconds(1 << 40))
    }
}

extension ImageDownload {
    /// Requires a job whose source is a URL.
    convenience init(_ job: ImageJob, _ url: RequestURL) {
        let (retrieval, asking, isRetry) = job.state.withLock { ($0.retrieval, $0.asking, $0.retried > 0) }
        let mirror = asking.mirror(of: retrieval)
        let condition = asking.condition(retrieval)
        self.init(
            mirror ?? url, mirror.flatMap { _ in retrieval.box.mirrored } ?? retrieval.box.download, job.wish,
            from: job.downloader, for: retrieval, parts: job.makesVariants ? job.variants : [],
            // The validators of the source mean nothing to a mirror.
            condition: mirror == nil || condition?.place != nil ? condition : nil, isForMirror: mirror != nil,
            isRetry: isRetry, limits: mirror == nil ? asking.limits(retrieval) : .avoid,
            commits: asking.commits, moment: asking.moment, tap: retrieval.tap)
    }
}

/// Calls with equal transfers share one of them (single flight).
extension ImageDownload: Hashable {
    static func == (a: ImageDownload, b: ImageDownload) -> Bool {
        a === b
            || a.hash == b.hash && a.isShared && b.isShared && a.url.text == b.url.text
                && a.retrieval?.originals === b.retrieval?.originals && a.delegate === b.delegate
                && a.responder === b.responder && a.condition == b.condition && a.isForMirror == b.isForMirror
                && a.terms.isAlike(b.terms) && a.hasSameRequest(as: b)
    }

    /// The digests are made only where two calls with other options want one URL.
    private func hasSameRequest(as other: ImageDownload) -> Bool {
        terms === other.terms && url == other.url || terms.digest(of: url) == other.terms.digest(of: other.url)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension KingfisherError {
    /// Names the content coding as the cause if an encoded body is not an image.
    func naming(encoding: String?) -> KingfisherError {
        guard case .responseError(reason: .notAnImage) = self, let encoding, !encoding.isEmpty else { return self }
        return .responseError(reason: .notAnImage(found: "it came with Content-Encoding \(encoding)"))
    }

    /// Whether the bytes are not a whole image.
    var isDamage: Bool {
        switch self {
        case .responseError(reason: .notAnImage), .responseError(reason: .damagedImage): true
        default: false
        }
    }
}
