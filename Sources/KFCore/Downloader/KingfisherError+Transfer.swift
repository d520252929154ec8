import KFNetwork

extension KingfisherError {
    /// A failed transfer, in Kingfisher's classes.
    init(transfer error: TransferError) {
        switch error {
        case .cancelled: self = .requestError(reason: .taskCancelled)
        case .invalidURL, .unsupportedScheme: self = .requestError(reason: .invalidURL(problem: error.message))
        case .httpStatus(let status, _): self = .responseError(reason: .invalidHTTPStatusCode(status))
        case .cancelledByHook: self = .responseError(reason: .cancelledByDelegate)
        case .tooLarge: self = .responseError(reason: .tooLarge(detail: error.message))
        case .sink: self = .cacheError(reason: .cannotCreateCacheFile(detail: error.message))
        default: self = .responseError(reason: .transferError(detail: error.message, isTransient: error.isRetryable))
        }
    }
}
