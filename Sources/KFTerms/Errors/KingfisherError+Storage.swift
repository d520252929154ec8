import KFNetwork
import KFStorage
import KFSystem

extension KingfisherError {
    /// Converts a failure to open the disk cache.
    package init(opening error: StorageError) {
        switch error {
        case .locked: self = .cacheError(reason: .cacheIsLocked(detail: error.message))
        case .cannotCreateDirectory:
            self = .cacheError(reason: .cannotCreateDirectory(detail: error.message))
        default:
            self = .cacheError(reason: .diskStorageIsNotReady(detail: error.message))
        }
    }

    /// Converts a failure to read from the disk cache.
    package init(reading error: StorageError) {
        switch error {
        case .locked: self = .cacheError(reason: .cacheIsLocked(detail: error.message))
        case .system: self = .cacheError(reason: .cannotLoadDataFromDisk(detail: error.message))
        default: self = .cacheError(reason: .diskStorageIsNotReady(detail: error.message))
        }
    }

    /// Converts a failure to write to the disk cache.
    package init(writing error: StorageError) {
        switch error {
        case _ where error.isDiskFull: self = .cacheError(reason: .diskIsFull(detail: error.message))
        case .locked: self = .cacheError(reason: .cacheIsLocked(detail: error.message))
        case .objectTooLarge: self = .cacheError(reason: .imageLargerThanCache(detail: error.message))
        case .readOnly: self = .cacheError(reason: .cacheIsReadOnly(detail: error.message))
        case .cannotCreateDirectory: self = .cacheError(reason: .cannotCreateDirectory(detail: error.message))
        case .system: self = .cacheError(reason: .cannotCreateCacheFile(detail: error.message))
        default: self = .cacheError(reason: .diskStorageIsNotReady(detail: error.message))
        }
    }
}

extension KingfisherError {
    /// Converts a transfer's failure into Kingfisher's classes of errors.
    package init(transfer error: TransferError) {
        switch error {
        case .cancelled: self = .requestError(reason: .taskCancelled)
        case .shutDown: self = .requestError(reason: .downloaderShutDown)
        case .invalidURL, .unsupportedScheme: self = .requestError(reason: .invalidURL(problem: error.message))
        case .httpStatus(let status, _): self = .responseError(reason: .invalidHTTPStatusCode(status))
        case .circuitOpen(let host, let left):
            self = .responseError(reason: .circuitOpen(host: host, secondsLeft: left.roundedSeconds))
        case .cancelledByHook: self = .responseError(reason: .cancelledByDelegate)
        case .tooLarge(let limit):
            self = .responseError(reason: .tooLarge(detail: "larger than \(ByteText.limit(Int64(limit)))"))
        case .sink: self = .cacheError(reason: .cannotCreateCacheFile(detail: error.message))
        case .emptyReply: self = .responseError(reason: .noURLResponse)
        case .unexpectedStatus, .badHeaders, .protocolError:
            self = .responseError(reason: .invalidURLResponse(detail: error.message, isTransient: error.isRetryable))
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
        case .truncated, .connectionLost, .streamEnded: .interrupted
        case .tooManyRedirects, .insecureRedirect, .forbiddenRedirectScheme, .invalidRedirect, .redirectRefused:
            .redirect
        case .privateAddress, .environmentProxyRefused: .privateAddress
        default: .other
        }
    }
}

/// The reason phrases of RFC 9110 and the IANA registry. HTTP/2 transmits none.
enum HTTPStatus {
    private static let phrases: [Int: String] = [
        201: "Created", 202: "Accepted", 204: "No Content", 205: "Reset Content", 206: "Partial Content",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
        402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
        407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
        411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long",
        415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
        421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked", 424: "Failed Dependency",
        425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error",
        501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
        505: "HTTP Version Not Supported", 507: "Insufficient Storage", 508: "Loop Detected",
        511: "Network Authentication Required",
    ]

    static func phrase(_ status: Int) -> String? { phrases[status] }

    /// Returns `404 Not Found`, or the number alone for an unregistered status.
    static func text(_ status: Int) -> String { phrase(status).map { "\(status) \($0)" } ?? "\(status)" }
}
