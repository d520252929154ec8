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
        case .expired: "the certificate of \(host) has expired"
        case .notYetValid: "the certificate of \(host) is not valid yet"
        case .selfSigned: "the certificate of \(host) is self-signed"
        case .wrongHost: "the certificate of \(host) is for another host"
        case .unknownAuthority: "the certificate of \(host) is from an unknown authority"
        case .other: "no secure connection to \(host): \(detail)"
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
