import KFNetwork

extension KingfisherError {
    /// A failed transfer, in Kingfisher's classes.
    init(transfer error: TransferError) {
        switch error {
        case .cancelled: self = .requestError(reason: .taskCancelled)
        case .shutDown: self = .requestError(reason: .downloaderShutDown)
        case .invalidURL, .unsupportedScheme: self = .requestError(reason: .invalidURL(problem: error.message))
        case .httpStatus(let status, _): self = .responseError(reason: .invalidHTTPStatusCode(status))
        case .cancelledByHook: self = .responseError(reason: .cancelledByDelegate)
        case .tooLarge: self = .responseError(reason: .tooLarge(detail: error.message))
        case .sink: self = .cacheError(reason: .cannotCreateCacheFile(detail: error.message))
        case .emptyReply: self = .responseError(reason: .noURLResponse)
        case .unexpectedStatus, .badHeaders, .conflictingLength, .contentRange, .protocolError:
            self = .responseError(
                reason: .invalidURLResponse(detail: error.message, isTransient: error.isRetryable))
        default:
            self = .responseError(
                reason: .transferError(error.failure, detail: error.message, isTransient: error.isRetryable))
        }
    }
}

extension TransferError {
    fileprivate var failure: TransferFailure {
        switch self {
        case .resolve: .dns
        case .connect, .proxy, .proxyStatus: .connection
        case .tls: .tls
        case .connectTimeout, .stalled, .maxTimeExceeded: .timeout
        case .truncated, .connectionLost: .interrupted
        case .tooManyRedirects, .insecureRedirect, .forbiddenRedirectScheme, .invalidRedirect, .redirectRefused:
            .redirect
        case .privateAddress, .environmentProxyRefused: .privateAddress
        default: .other
        }
    }
}
