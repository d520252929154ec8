extension TransferError {
    /// Whether the same request may well succeed when it is made again: the transfer broke, or the server said that it
    /// cannot answer now. Never for a cancellation, a refusal of ours or an answer that was clear.
    package var isRetryable: Bool {
        switch self {
        case .resolve, .connect, .connectTimeout, .stalled, .maxTimeExceeded, .truncated, .connectionLost, .emptyReply,
            .protocolError, .proxy:
            true
        case .httpStatus(let status, _), .proxyStatus(let status):
            status == 408 || status == 425 || status == 429 || 500...599 ~= status
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
