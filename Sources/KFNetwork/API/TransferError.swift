/// Why a transfer did not end well. `host` is the host of the hop that failed, with its port where that is not the
/// scheme's own.
package enum TransferError: Error, Sendable, Equatable {
    /// The task was cancelled, or waited for its turn when the engine was drained.
    case cancelled
    /// The engine was shut down.
    case shutDown

    // What was asked for.
    case invalidURL
    case unsupportedScheme(String)
    /// A header to be sent holds a line break or NUL, or has no proper name.
    case invalidRequestHeader(name: String)

    // The way there.
    case resolve(host: String)
    case connect(host: String, detail: String)
    case connectTimeout(host: String)
    case tls(TLSFailure, host: String, detail: String)
    case proxy(detail: String)
    /// The proxy would not make a tunnel to the host: 407 wants a password of us.
    case proxyStatus(Int)
    /// Under `deniesPrivateAddresses`: an address that is not public.
    case privateAddress(host: String, address: String)
    /// Under `deniesPrivateAddresses`: the environment names a proxy, the options do not.
    case environmentProxyRefused(variable: String)

    // Time.
    /// Less than 1 KiB came in that span.
    case stalled(host: String, after: Duration)
    case maxTimeExceeded(Duration)

    // Redirects.
    case tooManyRedirects(limit: Int)
    case insecureRedirect(host: String)
    case forbiddenRedirectScheme(String)
    case invalidRedirect
    /// The redirect hook would not follow.
    case redirectRefused(status: Int)

    // The hooks.
    /// The response hook did not want the body.
    case cancelledByHook
    /// The gate was closed.
    case notAdmitted
    /// A hook did not come to a decision in time.
    case undecided(after: Duration)

    // The answer's head.
    case httpStatus(Int, ResponseHead)
    /// A 206 or 304 that was not asked for.
    case unexpectedStatus(Int)
    case badHeaders(detail: String)
    case conflictingLength
    /// A 206 does not continue the body that is here.
    case contentRange(detail: String)
    case contentEncoding(String)
    /// What came does not decode as its Content-Encoding says.
    case encodingDamaged(String, detail: String)

    // The answer's body.
    case tooLarge(limit: Int64)
    /// `expected` is nil where no length was announced.
    case truncated(expected: Int64?, got: Int64)
    case connectionLost(detail: String)
    case emptyReply
    case protocolError(detail: String)

    // This side.
    case sink(SinkError)
    case libraryMissing(detail: String)
    case engine(detail: String)
}

extension TransferError {
    init(_ fault: HeadFault) {
        self =
            switch fault {
            case .malformed(let detail): .badHeaders(detail: detail)
            case .conflictingLength: .conflictingLength
            case .coding(let name): .contentEncoding(name)
            }
    }
}

extension TransferError {
    /// What happened, in plain words; without user info, path or query, so that it can be shown and logged.
    package var message: String {
        switch self {
        case .cancelled: "cancelled"
        case .shutDown: "the downloader has been shut down"
        case .invalidURL: "not a valid address"
        case .unsupportedScheme(let scheme): "scheme \(scheme) is not supported, only http and https are"
        case .invalidRequestHeader(let name): "header \(name) cannot be sent: its name or value is malformed"
        case .resolve(let host): "could not resolve host \(host)"
        case .connect(let host, let detail): "could not connect to \(host): \(detail)"
        case .connectTimeout(let host): "no connection to \(host) in time"
        case .tls(let failure, let host, let detail): failure.message(host: host, detail: detail)
        case .proxy(let detail): "proxy: \(detail)"
        case .proxyStatus(407): "proxy: it wants a user and a password (407)"
        case .proxyStatus(let status): "proxy: it answered \(status)"
        case .privateAddress(let host, let address):
            "\(host) is at \(address), which is not a public address"
        case .environmentProxyRefused(let variable):
            "the environment names a proxy (\(variable)); private addresses can be refused only if the proxy is named as an option"
        case .stalled(let host, let span): "\(host) sent less than 1 KiB in \(span.seconds)"
        case .maxTimeExceeded(let limit): "took longer than \(limit.seconds)"
        case .tooManyRedirects(let limit): "more than \(limit) redirects"
        case .insecureRedirect(let host): "redirect from https to http (\(host)) refused"
        case .forbiddenRedirectScheme(let scheme): "redirect to scheme \(scheme) refused"
        case .invalidRedirect: "redirect to an invalid address"
        case .redirectRefused(let status): "redirect (\(status)) not followed: the redirect handler refused it"
        case .cancelledByHook: "cancelled when the response's head was seen"
        case .notAdmitted: "not started: another process makes the same request"
        case .undecided(let limit): "no decision about the transfer came within \(limit.seconds)"
        case .httpStatus(let status, let head):
            head.reason.isEmpty ? "response \(status)" : "response \(status) \(head.reason)"
        case .unexpectedStatus(let status): "response \(status), which was not asked for"
        case .badHeaders(let detail): "malformed response: \(detail)"
        case .conflictingLength: "malformed response: two different Content-Length values"
        case .contentRange(let detail): "malformed response: \(detail)"
        case .contentEncoding(let name): "response is encoded as \(name), which was not asked for"
        case .encodingDamaged(let name, let detail): "the \(name) encoding of the response is damaged: \(detail)"
        case .tooLarge(let limit): "larger than \(limit) bytes"
        case .truncated(let expected?, let got): "broke off after \(got) of \(expected) bytes"
        case .truncated(nil, let got): "broke off after \(got) bytes"
        case .connectionLost(let detail): "connection lost: \(detail)"
        case .emptyReply: "the server closed the connection without an answer"
        case .protocolError(let detail): "malformed response: \(detail)"
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

    /// The problem of the certificate, as a predicate.
    package var problem: String {
        switch self {
        case .expired: "has expired"
        case .notYetValid: "is not valid yet"
        case .selfSigned: "is self-signed"
        case .wrongHost: "is for another host"
        case .unknownAuthority: "is from an unknown authority"
        case .other: "cannot be checked"
        }
    }
}

extension Duration {
    /// "15 s", "0.3 s".
    fileprivate var seconds: String {
        let milliseconds = saturatedNanoseconds / 1_000_000
        guard milliseconds % 1000 != 0 else { return "\(milliseconds / 1000) s" }
        var fraction = String(milliseconds % 1000 + 1000).dropFirst()
        while fraction.last == "0" { fraction = fraction.dropLast() }
        return "\(milliseconds / 1000).\(fraction) s"
    }
}

extension TransferError {
    /// Whether a status says that the server cannot answer now: 408, 425, 429 and 5xx.
    package static func isTransient(_ status: Int) -> Bool {
        status == 408 || status == 425 || status == 429 || 500...599 ~= status
    }

    /// Whether the same request may succeed later: the transfer broke, or the server cannot answer now.
    package var isRetryable: Bool {
        switch self {
        case .resolve, .connect, .connectTimeout, .stalled, .maxTimeExceeded, .truncated, .connectionLost, .emptyReply,
            .protocolError, .proxy:
            true
        case .httpStatus(let status, _), .proxyStatus(let status):
            Self.isTransient(status)
        case .cancelled, .shutDown, .invalidURL, .unsupportedScheme, .invalidRequestHeader, .tls, .privateAddress,
            .environmentProxyRefused, .tooManyRedirects, .insecureRedirect, .forbiddenRedirectScheme, .invalidRedirect,
            .redirectRefused, .cancelledByHook, .notAdmitted, .undecided, .unexpectedStatus, .badHeaders,
            .conflictingLength,
            .contentRange, .contentEncoding, .encodingDamaged, .tooLarge, .sink,
            .libraryMissing, .engine:
            false
        }
    }
}

/// Why a server's certificate was not accepted.
package enum TLSFailure: Sendable, Equatable {
    case expired, notYetValid, selfSigned, wrongHost, unknownAuthority, other
}

/// Why a sink wants no more of a transfer. Comes back inside `TransferError.sink`.
package struct SinkError: Error, Sendable, Equatable {
    package var reason: String
    /// What the sink's owner wants to find again in the result. Not compared.
    package var underlying: (any Error)?

    package init(reason: String, underlying: (any Error)? = nil) {
        self.reason = reason
        self.underlying = underlying
    }

    package static func == (left: SinkError, right: SinkError) -> Bool { left.reason == right.reason }
}
