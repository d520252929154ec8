extension KingfisherError {
    /// The reason why a request was not made, or was abandoned (1xxx).
    public enum RequestErrorReason: Sendable, Equatable {
        /// The request modifier returned no request (code 1001).
        case emptyRequest
        /// The URL cannot be requested (code 1002). `problem` is the reason.
        case invalidURL(problem: String)
        /// The task was cancelled (code 1003).
        case taskCancelled
        /// The downloader has been shut down (code 1007). This is not a cancellation by the caller.
        case downloaderShutDown

        var description: ErrorDescription {
            switch self {
            case .emptyRequest:
                .init(code: 1001, name: "emptyRequest", message: "the request modifier returned no request")
            case .invalidURL(let problem): .init(code: 1002, name: "invalidURL", message: problem)
            case .taskCancelled: .init(code: 1003, name: "taskCancelled", message: "cancelled")
            case .downloaderShutDown:
                .init(code: 1007, name: "downloaderShutDown", message: "the downloader has been shut down")
            }
        }
    }

    /// The reason why a response brought no usable image (2xxx).
    public enum ResponseErrorReason: Sendable, Equatable {
        /// The response violates HTTP (code 2001). `isTransient`: a retry may succeed.
        case invalidURLResponse(detail: String, isTransient: Bool)
        /// The server refused the request with this status (code 2002).
        case invalidHTTPStatusCode(Int)
        /// A cached refusal that is still fresh for `secondsLeft` seconds (code 2002). No request was made.
        case rememberedHTTPStatusCode(Int, secondsLeft: Int64)
        /// The transfer failed (code 2003). Kingfisher's `URLSessionError`. `isTransient`: a retry may succeed.
        case transferError(TransferFailure, detail: String, isTransient: Bool)
        /// The delegate returned nil in place of the downloaded data (code 2004).
        case dataModifyingFailed
        /// The server closed the connection without a response (code 2005). A retry may succeed.
        case noURLResponse
        /// The delegate refused the response after seeing its headers (code 2006).
        case cancelledByDelegate
        /// The body is not an image (code 2007). `found` describes what it looks like.
        case notAnImage(found: String)
        /// The body begins like an image and is truncated or damaged (code 2008).
        case damagedImage(detail: String)
        /// The image has more bytes, pixels or frames than the options allow (code 2009).
        case tooLarge(detail: String)
        /// The circuit breaker of the host is open for `secondsLeft` more seconds (code 2010). It opens only with
        /// ``ImageDownloader/Configuration/failuresToOpenCircuit``.
        case circuitOpen(host: String, secondsLeft: Int64)

        var description: ErrorDescription {
            switch self {
            case .invalidURLResponse(let detail, _):
                .init(code: 2001, name: "invalidURLResponse", message: detail)
            case .invalidHTTPStatusCode(let status):
                .init(code: 2002, name: "invalidHTTPStatusCode", message: "response \(HTTPStatus.text(status))")
            case .rememberedHTTPStatusCode(let status, let seconds):
                .init(
                    code: 2002, name: "invalidHTTPStatusCode",
                    message: "response \(HTTPStatus.text(status)), remembered for another "
                        + SpanText.short(seconds.multiplied(saturating: 1000)))
            case .transferError(_, let detail, _): .init(code: 2003, name: "transferError", message: detail)
            case .dataModifyingFailed:
                .init(code: 2004, name: "dataModifyingFailed", message: "the delegate returned no data")
            case .noURLResponse:
                .init(
                    code: 2005, name: "noURLResponse", message: "the server closed the connection without an answer")
            case .cancelledByDelegate:
                .init(code: 2006, name: "cancelledByDelegate", message: "the delegate refused the response")
            case .notAnImage(let found):
                .init(code: 2007, name: "notAnImage", message: "not an image: \(found)")
            case .damagedImage(let detail): .init(code: 2008, name: "damagedImage", message: detail)
            case .tooLarge(let detail): .init(code: 2009, name: "tooLarge", message: detail)
            case .circuitOpen(let host, let seconds):
                .init(
                    code: 2010, name: "circuitOpen",
                    message: "\(host) failed too often in a row; not asked again for \(seconds) s (circuit open)")
            }
        }
    }

    /// The reason why the cache failed (3xxx).
    public enum CacheErrorReason: Sendable, Equatable {
        /// A cached file exists and cannot be read (code 3004).
        case cannotLoadDataFromDisk(detail: String)
        /// The cache directory cannot be created (code 3005).
        case cannotCreateDirectory(detail: String)
        /// The image is not cached, and the options forbid fetching it (code 3006). `key` is the cache key with the
        /// identifier.
        case imageNotExisting(key: String)
        /// The image is cached and expired `secondsAgo` seconds ago, and the options forbid fetching it (code 3006).
        /// ``KingfisherOptions/offline`` serves it.
        case imageExpired(key: String, secondsAgo: Int64)
        /// The image cannot be encoded for storing (code 3008).
        case cannotSerializeImage(detail: String)
        /// A file of the cache, or its index, cannot be written (code 3009).
        case cannotCreateCacheFile(detail: String)
        /// The directory cannot be used as a cache (code 3011).
        case diskStorageIsNotReady(detail: String)
        /// The file system has no space or no inodes left (code 3013).
        case diskIsFull(detail: String)
        /// The image alone exceeds the size limit of the cache (code 3014).
        case imageLargerThanCache(detail: String)
        /// The cache is read-only (code 3015).
        case cacheIsReadOnly(detail: String)
        /// Another process held a lock of the cache for longer than the time limit (code 3016).
        case cacheIsLocked(detail: String)
        /// A remote that is required refuses requests or cannot be reached (code 3017).
        case remoteIsUnavailable(detail: String)

        var description: ErrorDescription {
            switch self {
            case .cannotLoadDataFromDisk(let detail):
                .init(code: 3004, name: "cannotLoadDataFromDisk", message: "cannot be read from the cache: \(detail)")
            case .cannotCreateDirectory(let detail):
                .init(code: 3005, name: "cannotCreateDirectory", message: detail)
            case .imageNotExisting:
                .init(code: 3006, name: "imageNotExisting", message: "not in the cache")
            case .imageExpired(_, let seconds):
                .init(
                    code: 3006, name: "imageNotExisting",
                    message: "in the cache, but it expired \(SpanText.short(seconds.multiplied(saturating: 1000))) ago")
            case .cannotSerializeImage(let detail):
                .init(code: 3008, name: "cannotSerializeImage", message: detail)
            case .cannotCreateCacheFile(let detail):
                .init(code: 3009, name: "cannotCreateCacheFile", message: "cannot be stored: \(detail)")
            case .diskStorageIsNotReady(let detail):
                .init(code: 3011, name: "diskStorageIsNotReady", message: "the cache cannot be used: \(detail)")
            case .diskIsFull(let detail):
                .init(code: 3013, name: "diskIsFull", message: "cannot be stored, the disk is full: \(detail)")
            case .imageLargerThanCache(let detail):
                .init(code: 3014, name: "imageLargerThanCache", message: "not stored: \(detail)")
            case .cacheIsReadOnly(let detail):
                .init(code: 3015, name: "cacheIsReadOnly", message: "the cache cannot be changed: \(detail)")
            case .cacheIsLocked(let detail):
                .init(code: 3016, name: "cacheIsLocked", message: "the cache is locked: \(detail)")
            case .remoteIsUnavailable(let detail):
                .init(code: 3017, name: "remoteIsUnavailable", message: detail)
            }
        }
    }

    /// The reason why an image could not be decoded, processed or written (4xxx).
    public enum ProcessorErrorReason: Sendable, Equatable {
        /// Decoding failed, or the processor with this identifier (code 4001).
        case processingFailed(identifier: String, detail: String)
        /// The result cannot be written to its destination (code 4002).
        case outputFailed(detail: String)
        /// The reader of the output has closed it (code 4003).
        case outputClosed

        var description: ErrorDescription {
            switch self {
            case .processingFailed(let identifier, let detail):
                .init(
                    code: 4001, name: "processingFailed",
                    message: identifier.isEmpty ? detail : "\(identifier): \(detail)")
            case .outputFailed(let detail): .init(code: 4002, name: "outputFailed", message: detail)
            case .outputClosed: .init(code: 4003, name: "outputClosed", message: "the output was closed by its reader")
            }
        }
    }

    /// The reason why a source brought no image (5xxx).
    public enum SourceErrorReason: Sendable, Equatable {
        /// No source was given (code 5001).
        case emptySource
        /// A file, a list or another provider returned no bytes (code 5003). `error` is the error that the program's
        /// own provider threw.
        case dataProviderError(detail: String, error: UnderlyingError? = nil)
        /// The source and all its alternatives failed (code 5004). The errors are in the order of the attempts.
        case alternativeSourcesExhausted([PropagationError])
        /// A record of a list cannot be parsed (code 5007).
        case invalidListRecord(detail: String)
        /// An earlier run failed, and the rows of its shard say why. The code, the name and the message are those of its
        /// error.
        case recordedFailure(code: Int, name: String, message: String)

        var description: ErrorDescription {
            switch self {
            case .emptySource: .init(code: 5001, name: "emptySource", message: "no source was given")
            case .dataProviderError(let detail, _): .init(code: 5003, name: "dataProviderError", message: detail)
            case .alternativeSourcesExhausted(let errors):
                .init(
                    code: 5004, name: "alternativeSourcesExhausted",
                    message: "every source failed: " + errors.map(\.error.message).joined(separator: "; "))
            case .invalidListRecord(let detail):
                .init(code: 5007, name: "invalidListRecord", message: detail)
            case .recordedFailure(let code, let name, let message): .init(code: code, name: name, message: message)
            }
        }
    }
}
