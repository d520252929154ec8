import KFSystem

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
        /// The lock of images cannot be used (code 1008).
        case invalidLock(path: String, detail: String)
        /// The frozen lock lacks the image (code 1009).
        case notLocked(path: String)

        var description: (code: Int, name: String, message: String) {
            switch self {
            case .emptyRequest: (1001, "emptyRequest", "the request modifier returned no request")
            case .invalidURL(let problem): (1002, "invalidURL", problem)
            case .taskCancelled: (1003, "taskCancelled", "cancelled")
            case .downloaderShutDown: (1007, "downloaderShutDown", "the downloader has been shut down")
            case .invalidLock(let path, let detail): (1008, "invalidLock", "the lock \(path) cannot be used: \(detail)")
            case .notLocked(let path): (1009, "notLocked", "not in \(path), and a frozen lock takes no new image")
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
        /// The bytes have another hash than the image must have (code 2011). Nothing of them is stored.
        case unexpectedContent(expected: String, found: String, bytes: Int64)
        /// ``KingfisherOptions/filter`` refuses the image (code 2012). `secondsLeft` is how long that is remembered, if no
        /// request was made.
        case filtered(ImageMeasures, detail: String, secondsLeft: Int64? = nil)
        /// A response forbids the use of the image with this header (code 2013), see ``KingfisherOptions/optOut``.
        case optedOut(header: String, secondsLeft: Int64? = nil)
        /// The image of a data set is equal to that of the sample with this key, or like it (code 2014).
        case duplicate(of: String)

        var description: (code: Int, name: String, message: String) {
            switch self {
            case .invalidURLResponse(let detail, _): (2001, "invalidURLResponse", detail)
            case .invalidHTTPStatusCode(let status):
                (2002, "invalidHTTPStatusCode", "response \(HTTPStatus.text(status))")
            case .rememberedHTTPStatusCode(let status, _):
                // The time is not part of it, so that one failure has one text: in reports, and in shards of equal bytes.
                (2002, "invalidHTTPStatusCode", "response \(HTTPStatus.text(status)), remembered")
            case .transferError(_, let detail, _): (2003, "transferError", detail)
            case .dataModifyingFailed: (2004, "dataModifyingFailed", "the delegate returned no data")
            case .noURLResponse: (2005, "noURLResponse", "the server closed the connection without an answer")
            case .cancelledByDelegate: (2006, "cancelledByDelegate", "the delegate refused the response")
            case .notAnImage(let found): (2007, "notAnImage", "not an image: \(found)")
            case .damagedImage(let detail): (2008, "damagedImage", detail)
            case .tooLarge(let detail): (2009, "tooLarge", detail)
            case .circuitOpen(let host, let seconds):
                (
                    2010, "circuitOpen",
                    "\(host) fails or limits its requests; not asked again for \(seconds) s (circuit open)"
                )
            case .unexpectedContent(let expected, let found, let bytes):
                (
                    2011, "unexpectedContent",
                    "expected \(expected), got \(found), \(ByteText.grouped(bytes)) bytes: it has changed since it was locked"
                )
            case .filtered(_, let detail, _): (2012, "filtered", detail)
            case .optedOut(let header, _): (2013, "optedOut", header)
            case .duplicate(let sample): (2014, "duplicate", "a duplicate of \(sample)")
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

        var description: (code: Int, name: String, message: String) {
            switch self {
            case .cannotLoadDataFromDisk(let detail):
                (3004, "cannotLoadDataFromDisk", "cannot be read from the cache: \(detail)")
            case .cannotCreateDirectory(let detail): (3005, "cannotCreateDirectory", detail)
            case .imageNotExisting: (3006, "imageNotExisting", "not in the cache")
            case .imageExpired(_, let seconds):
                (
                    3006, "imageNotExisting",
                    "in the cache, but it expired \(SpanText.short(seconds.multiplied(saturating: 1000))) ago"
                )
            case .cannotSerializeImage(let detail): (3008, "cannotSerializeImage", detail)
            case .cannotCreateCacheFile(let detail): (3009, "cannotCreateCacheFile", "cannot be stored: \(detail)")
            case .diskStorageIsNotReady(let detail):
                (3011, "diskStorageIsNotReady", "the cache cannot be used: \(detail)")
            case .diskIsFull(let detail): (3013, "diskIsFull", "cannot be stored, the disk is full: \(detail)")
            case .imageLargerThanCache(let detail): (3014, "imageLargerThanCache", "not stored: \(detail)")
            case .cacheIsReadOnly(let detail): (3015, "cacheIsReadOnly", "the cache cannot be changed: \(detail)")
            case .cacheIsLocked(let detail): (3016, "cacheIsLocked", "the cache is locked: \(detail)")
            case .remoteIsUnavailable(let detail): (3017, "remoteIsUnavailable", detail)
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

        var description: (code: Int, name: String, message: String) {
            switch self {
            case .processingFailed(let identifier, let detail):
                (4001, "processingFailed", identifier.isEmpty ? detail : "\(identifier): \(detail)")
            case .outputFailed(let detail): (4002, "outputFailed", detail)
            case .outputClosed: (4003, "outputClosed", "the output was closed by its reader")
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

        var description: (code: Int, name: String, message: String) {
            switch self {
            case .emptySource: (5001, "emptySource", "no source was given")
            case .dataProviderError(let detail, _): (5003, "dataProviderError", detail)
            case .alternativeSourcesExhausted(let errors):
                (
                    5004, "alternativeSourcesExhausted",
                    "every source failed: " + errors.map(\.error.message).joined(separator: "; ")
                )
            case .invalidListRecord(let detail): (5007, "invalidListRecord", detail)
            case .recordedFailure(let code, let name, let message): (code, name, message)
            }
        }
    }
}
