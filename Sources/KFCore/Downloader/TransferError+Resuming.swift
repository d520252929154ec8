import KFNetwork

extension TransferError {
    /// Whether the same transfer, continued later, may succeed: it broke off, or the server could not be asked. After a
    /// clear answer, or a refusal that more bytes do not change, nothing of the body is worth keeping.
    var leavesBodyResumable: Bool {
        switch self {
        case .cancelled, .shutDown, .notAdmitted, .undecided, .maxTimeExceeded, .resolve, .connect, .connectTimeout,
            .tls, .proxy,
            .proxyStatus,
            .privateAddress, .environmentProxyRefused, .stalled, .truncated, .connectionLost, .emptyReply,
            .protocolError, .libraryMissing, .engine:
            true
        case .httpStatus(let status, _): Self.passingStatuses.contains(status)
        case .invalidURL, .unsupportedScheme, .invalidRequestHeader, .tooManyRedirects, .insecureRedirect,
            .forbiddenRedirectScheme, .invalidRedirect, .redirectRefused, .cancelledByHook, .unexpectedStatus,
            .badHeaders, .conflictingLength, .contentRange, .contentEncoding, .encodingDamaged,
            .tooLarge, .sink:
            false
        }
    }

    /// Whether a server that refuses the rest of a body may still send all of it.
    var refusesRange: Bool {
        switch self {
        case .contentRange, .contentEncoding, .unexpectedStatus, .badHeaders, .conflictingLength: true
        case .httpStatus(let status, _):
            !Self.passingStatuses.contains(status) && !Self.finalStatuses.contains(status)
        default: false
        }
    }

    /// The server could not answer at the moment, whatever was asked for.
    private static let passingStatuses: Set<Int> = [408, 425, 429, 502, 503, 504]
    /// The image cannot be had, whichever part is asked for.
    private static let finalStatuses: Set<Int> = [401, 404, 407, 410]
}
