/// What the end of a hop says about its host.
extension Transfer {
    func meaning(of outcome: Outcome, now: MonotonicTime) -> HostOutcome {
        switch outcome {
        case .answer(.success(let response)): .answered(learnsLimits ? response.head.headers.quota(now: now) : nil)
        case .answer(.failure(let error)): meaning(of: error)
        // A redirect or a challenge, or a request that did not reach the host and is made again.
        case .follow, .ask: exchange.phase == .connecting ? .unknown : .answered()
        case .wait, .proceed, .start: .unknown
        }
    }

    private var learnsLimits: Bool { request.hooks.retryAfter != nil }

    private func meaning(of error: TransferError) -> HostOutcome {
        switch error {
        case .httpStatus(let status, let head) where learnsLimits && (status == 429 || status == 503):
            let span = request.hooks.retryAfter?(head)
            return status == 503 && span == nil
                ? .unavailable : .limited(span, isRepeated: limitedRests.isRepeating)
        case .httpStatus(500...599, _): return .failed(hasAnswered: true)
        // A name server is not the host.
        case .connectTimeout, .stalled: return exchange.hasResolved ? .silent : .failed(hasAnswered: false)
        // Servers end a connection after a number of requests, and with it the streams that have just begun. One failed lookup
        // fails all waiting transfers of a host, and must not open its circuit by their number.
        case .streamEnded where hasCompany: return .unknown
        case .resolve(_, isRemembered: true): return .unknown
        case .resolve, .connect, .proxy, .tls, .maxTimeExceeded, .truncated, .connectionLost, .streamEnded, .emptyReply,
            .protocolError:
            return .failed(hasAnswered: exchange.phase != .connecting)
        case .httpStatus, .tooManyRedirects, .insecureRedirect, .forbiddenRedirectScheme, .invalidRedirect,
            .redirectRefused, .unexpectedStatus, .badHeaders, .contentEncoding, .encodingDamaged, .tooLarge, .sink,
            .cancelledByHook:
            return .answered()
        case .proxyStatus: return error.isRetryable ? .failed(hasAnswered: false) : .unknown
        case .cancelled, .shutDown, .invalidURL, .unsupportedScheme, .invalidRequestHeader, .privateAddress,
            .environmentProxyRefused, .circuitOpen, .notAdmitted, .undecided, .libraryMissing, .engine:
            return .unknown
        }
    }
}

extension HeaderFields {
    /// The number of requests that the server still allows, from `RateLimit: "policy";r=N;t=SECONDS` or `RateLimit-Remaining` and
    /// `RateLimit-Reset`. X-RateLimit-Reset is not read: it is a span for some servers and a date for others.
    func quota(now: MonotonicTime) -> RequestQuota? {
        guard hasQuota else { return nil }
        var (left, seconds) = (plainNumber(.rateLimitRemaining), plainNumber(.rateLimitReset))
        if let text = self[.rateLimit] {
            // The first item of a list; older drafts write `limit=10, remaining=5, reset=30`.
            for part in text.split(whereSeparator: { $0 == ";" || $0 == "," }) {
                let halves = part.split(separator: "=", maxSplits: 1)
                guard halves.count == 2, let number = Int64(halves[1].trimmingBlanks) else { continue }
                switch halves[0].trimmingBlanks {
                case "r", "remaining": left = left ?? number
                case "t", "reset": seconds = seconds ?? number
                default: break
                }
            }
        }
        guard let left, let seconds, left >= 0, seconds > 0 else { return nil }
        let span = min(seconds, HostState.longestRest.components.seconds)
        return RequestQuota(left: Int(clamping: min(left, 1 << 30)), end: now + .seconds(span))
    }
}
