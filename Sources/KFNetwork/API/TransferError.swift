import KFSystem

/// The reason why a transfer failed. `host` is the host of the failed hop, with its port unless that is the scheme's
/// default. For silence, it may be "the proxy HOST".
package enum TransferError: Error, Sendable, Equatable {
    /// The transfer was cancelled, or was still waiting when the engine was drained.
    case cancelled
    case shutDown

    // The request.
    case invalidURL
    case unsupportedScheme(String)
    /// A request header contains a control character, or its name is not a token.
    case invalidRequestHeader(name: String)

    // The connection.
    /// `isRemembered`: a lookup failed shortly before, and was not repeated.
    case resolve(host: String, isRemembered: Bool = false)
    case connect(host: String, detail: String)
    case connectTimeout(host: String)
    case tls(TLSFailure, host: String, detail: String)
    case proxy(detail: String)
    /// The proxy refused the CONNECT request with this status. 407 asks for credentials.
    case proxyStatus(Int)
    /// `deniesPrivateAddresses` is set, and the host's address is not public.
    case privateAddress(host: String, address: String)
    /// `deniesPrivateAddresses` is set, and the environment sets a proxy but the options do not.
    case environmentProxyRefused(variable: String)
    /// The host failed too often in a row, or it limits its requests and the transfer does not wait for that. It gets no
    /// requests for that long.
    case circuitOpen(host: String, left: Duration)

    // Time limits.
    /// The server sent less than 1 KiB in that span, and took less than 1 KiB of the request's body.
    case stalled(host: String, after: Duration)
    case maxTimeExceeded(Duration)

    // Redirects.
    case tooManyRedirects(limit: Int)
    case insecureRedirect(host: String)
    case forbiddenRedirectScheme(String)
    case invalidRedirect
    case redirectRefused(status: Int)

    // Hooks and gates.
    /// The response hook refused the body, or the challenge hook cancelled the transfer.
    case cancelledByHook
    /// The gate did not admit the transfer.
    case notAdmitted
    /// A hook or a gate did not decide within the timeout.
    case undecided(after: Duration)

    // The response head.
    case httpStatus(Int, ResponseHead)
    /// A 206 or 304 to a request without a range or a condition.
    case unexpectedStatus(Int)
    /// A malformed head, or a 206 that does not continue the partial body.
    case badHeaders(detail: String)
    case contentEncoding(String)
    /// The body cannot be decoded as its Content-Encoding demands.
    case encodingDamaged(String, detail: String)

    // The response body.
    case tooLarge(limit: Int64)
    /// `expected` is nil if the response announced no length.
    case truncated(expected: Int64?, got: Int64)
    case connectionLost(detail: String)
    /// The server ended the HTTP/2 stream without a response: it refused the stream, or closes the connection.
    case streamEnded
    case emptyReply
    case protocolError(detail: String)

    // The local side.
    case sink(SinkError)
    case libraryMissing(detail: String)
    case engine(detail: String)
}

extension TransferError {
    /// The message for users. It contains no user info, path or query, so that it can be shown and logged.
    package var message: String {
        switch self {
        case .cancelled: "cancelled"
        case .shutDown: "the downloader has been shut down"
        case .invalidURL: "not a valid URL"
        case .unsupportedScheme(let scheme): "scheme \(scheme) is not supported, only http and https are"
        case .invalidRequestHeader(let name) where RequestField.isReserved(name):
            "header \(name) cannot be sent: kf makes ranges and conditions by itself"
        case .invalidRequestHeader(let name): "header \(name) cannot be sent: its name or value is malformed"
        case .resolve(let host, _): "could not resolve host \(host)"
        case .connect(let host, let detail): "could not connect to \(host): \(detail)"
        case .connectTimeout(let host): "the connection to \(host) timed out"
        case .tls(let failure, let host, let detail): failure.message(host: host, detail: detail)
        case .proxy(let detail): "proxy: \(detail)"
        case .proxyStatus(407): "proxy: a user name and password are required (407)"
        case .proxyStatus(let status): "proxy: the connection was refused with status \(status)"
        case .privateAddress(let host, let address):
            "\(host) is at \(address), which is not a public address"
        case .environmentProxyRefused(let variable):
            "the environment names a proxy (\(variable)); private addresses can be refused only if the proxy is named as an option"
        case .circuitOpen(let host, let left):
            "\(host) fails or limits its requests; not asked again for \(left.seconds) (circuit open)"
        case .stalled(let host, let span): "\(host) sent less than 1 KiB in \(span.seconds)"
        case .maxTimeExceeded(let limit): "took longer than \(limit.seconds)"
        case .tooManyRedirects(let limit): "more than \(limit) redirects"
        case .insecureRedirect(let host): "redirect from https to http (\(host)) refused"
        case .forbiddenRedirectScheme(let scheme): "redirect to scheme \(scheme) refused"
        case .invalidRedirect: "redirect to an invalid URL"
        case .redirectRefused(let status): "redirect (\(status)) not followed: the redirect handler refused it"
        case .cancelledByHook: "cancelled by the response or challenge handler"
        case .notAdmitted: "not started: another process makes the same request"
        case .undecided(let limit): "a handler did not decide about the transfer within \(limit.seconds)"
        case .httpStatus(let status, let head):
            head.reason.isEmpty ? "response \(status)" : "response \(status) \(head.reason)"
        case .unexpectedStatus(let status): "response \(status), which was not asked for"
        case .contentEncoding(let name): "response is encoded as \(name), which was not asked for"
        case .encodingDamaged(let name, let detail): "the \(name) encoding of the response is damaged: \(detail)"
        case .tooLarge(let limit): "larger than \(limit) bytes"
        case .truncated(let expected?, let got): "broke off after \(got) of \(expected) bytes"
        case .truncated(nil, let got): "broke off after \(got) bytes"
        case .connectionLost(let detail): "connection lost: \(detail)"
        case .streamEnded: "the server ended the HTTP/2 stream without a response"
        case .emptyReply: "the server closed the connection without an answer"
        case .badHeaders(let detail), .protocolError(let detail): "malformed response: \(detail)"
        case .sink(let error): error.reason
        case .libraryMissing(let detail): "libcurl cannot be used: \(detail)"
        case .engine(let detail): "transfer engine: \(detail)"
        }
    }
}

extension TLSFailure {
    fileprivate func message(host: String, detail: String) -> String {
        switch self {
        case .other: "no secure connection to \(host): \(detail)"
        default: "the certificate of \(host) \(problem)"
        }
    }

    /// The problem of the certificate, as a predicate: "has expired".
    package var problem: String {
        switch self {
        case .expired: "has expired"
        case .notYetValid: "is not valid yet"
        case .selfSigned: "is self-signed"
        case .wrongHost: "is for another host"
        case .unknownAuthority: "is from an unknown authority (--cacert names another one)"
        case .other: "cannot be checked"
        }
    }
}

extension Duration {
    /// The duration in seconds with its unit: "15 s", "0.3 s".
    fileprivate var seconds: String {
        let milliseconds = saturatedNanoseconds / 1_000_000
        guard milliseconds % 1000 != 0 else { return "\(milliseconds / 1000) s" }
        var fraction = String(milliseconds % 1000 + 1000).dropFirst()
        while fraction.last == "0" { fraction = fraction.dropLast() }
        return "\(milliseconds / 1000).\(fraction) s"
    }
}

extension TransferError {
    /// Returns whether the status reports a transient condition of the server: 408, 425, 429 and 5xx.
    package static func isTransient(_ status: Int) -> Bool {
        status == 408 || status == 425 || status == 429 || 500...599 ~= status
    }

    /// Whether the same request may succeed later, because the transfer broke or the server reports a transient
    /// condition.
    package var isRetryable: Bool {
        switch self {
        case .resolve, .connect, .connectTimeout, .stalled, .maxTimeExceeded, .truncated, .connectionLost, .streamEnded,
            .emptyReply, .protocolError, .proxy:
            true
        case .httpStatus(let status, _), .proxyStatus(let status):
            Self.isTransient(status)
        case .cancelled, .shutDown, .invalidURL, .unsupportedScheme, .invalidRequestHeader, .tls, .privateAddress,
            .environmentProxyRefused, .circuitOpen, .tooManyRedirects, .insecureRedirect, .forbiddenRedirectScheme,
            .invalidRedirect, .redirectRefused, .cancelledByHook, .notAdmitted, .undecided, .unexpectedStatus,
            .badHeaders, .contentEncoding, .encodingDamaged, .tooLarge, .sink, .libraryMissing, .engine:
            false
        }
    }
}

/// The reason why a TLS handshake or the verification of the server's certificate failed.
package enum TLSFailure: Sendable, Equatable {
    case expired, notYetValid, selfSigned, wrongHost, unknownAuthority, other
}

/// An error that a sink throws to end its transfer. The transfer fails with it in `TransferError.sink`.
package struct SinkError: Error, Sendable, Equatable {
    package var reason: String
    /// The sink's own error, for the reader of the transfer's result. Ignored by `==`.
    package var underlying: (any Error)?

    package init(reason: String, underlying: (any Error)? = nil) {
        self.reason = reason
        self.underlying = underlying
    }

    package static func == (left: SinkError, right: SinkError) -> Bool { left.reason == right.reason }
}
