extension KingfisherError {
    /// Why nothing was asked, or nobody waited for the answer.
    public enum RequestErrorReason: Sendable, Equatable {
        /// 1001: the request modifier gave no request.
        case emptyRequest
        /// 1002: there is no URL that could be asked for.
        case invalidURL(problem: String)
        /// 1003: whoever waited has given up, or was told to.
        case taskCancelled
        /// 1007: the downloader has been shut down. Not a cancellation: the caller has not given up.
        case downloaderShutDown

        var description: ErrorDescription {
            switch self {
            case .emptyRequest:
                .init(code: 1001, name: "emptyRequest", message: "the request modifier gave no request")
            case .invalidURL(let problem): .init(code: 1002, name: "invalidURL", message: problem)
            case .taskCancelled: .init(code: 1003, name: "taskCancelled", message: "cancelled")
            case .downloaderShutDown:
                .init(code: 1007, name: "downloaderShutDown", message: "the downloader has been shut down")
            }
        }
    }

    /// Why what came is not what was asked for.
    public enum ResponseErrorReason: Sendable, Equatable {
        /// 2001: the answer breaks the rules of HTTP. `isTransient`: trying again may help.
        case invalidURLResponse(detail: String, isTransient: Bool)
        /// 2002: the status says that there is no image.
        case invalidHTTPStatusCode(Int)
        /// 2002 as well: a server has said so a while ago, and its answer is fresh for so long yet. It was not asked again.
        case rememberedHTTPStatusCode(Int, secondsLeft: Int64)
        /// 2003, Kingfisher's URLSessionError: the transfer failed, and where. `isTransient`: trying again may help.
        case transferError(TransferFailure, detail: String, isTransient: Bool)
        /// 2004: the delegate gave no bytes in place of those that came.
        case dataModifyingFailed
        /// 2005: the server closed the connection without an answer. Trying again may help.
        case noURLResponse
        /// 2006: the delegate refused the answer by its head.
        case cancelledByDelegate
        /// The bytes are no image; `found` says what they look like.
        case notAnImage(found: String)
        /// The bytes begin as an image and do not hold what they promise.
        case damagedImage(detail: String)
        /// 2009: more bytes, pixels or frames than the options allow.
        case tooLarge(detail: String)
        /// 2010: the host failed too often in a row and is not asked for so long: its circuit is open. Only where
        /// `ImageDownloader.Configuration.failuresToOpenCircuit` says so.
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
                    message: "response \(HTTPStatus.text(status)), remembered for another \(seconds) s")
            case .transferError(_, let detail, _): .init(code: 2003, name: "transferError", message: detail)
            case .dataModifyingFailed:
                .init(code: 2004, name: "dataModifyingFailed", message: "the data hook gave no data")
            case .noURLResponse:
                .init(
                    code: 2005, name: "noURLResponse", message: "the server closed the connection without an answer")
            case .cancelledByDelegate:
                .init(code: 2006, name: "cancelledByDelegate", message: "the response was refused by the delegate")
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

    /// What the cache could not do.
    public enum CacheErrorReason: Sendable, Equatable {
        /// 3004: a file is there and cannot be read.
        case cannotLoadDataFromDisk(detail: String)
        /// 3005: the directory cannot be made.
        case cannotCreateDirectory(detail: String)
        /// 3006: the image is not cached, and was not to be fetched. The key is shown with the identifier.
        case imageNotExisting(key: String)
        /// 3008: an image that is to be stored cannot be encoded.
        case cannotSerializeImage(detail: String)
        /// 3009: a file of the cache, or its index, cannot be written.
        case cannotCreateCacheFile(detail: String)
        /// 3011: the directory cannot be used as a cache.
        case diskStorageIsNotReady(detail: String)
        /// 3013: no room, or no inode, is left.
        case diskIsFull(detail: String)
        /// 3014: the image alone is larger than the cache may be.
        case imageLargerThanCache(detail: String)
        /// 3015: the cache may be read and not changed.
        case cacheIsReadOnly(detail: String)
        /// 3016: another process has held a lock of the cache for longer than was to be waited.
        case cacheIsLocked(detail: String)

        var description: ErrorDescription {
            switch self {
            case .cannotLoadDataFromDisk(let detail):
                .init(code: 3004, name: "cannotLoadDataFromDisk", message: "cannot be read from the cache: \(detail)")
            case .cannotCreateDirectory(let detail):
                .init(code: 3005, name: "cannotCreateDirectory", message: detail)
            case .imageNotExisting:
                .init(code: 3006, name: "imageNotExisting", message: "not in the cache")
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
            }
        }
    }

    /// What could not be made of the bytes.
    public enum ProcessorErrorReason: Sendable, Equatable {
        /// 4001: decoding, or the processor that the identifier names, failed.
        case processingFailed(identifier: String, detail: String)
        /// The result cannot be written where it was to go.
        case outputFailed(detail: String)
        /// The reader of standard output has gone.
        case outputClosed

        var description: ErrorDescription {
            switch self {
            case .processingFailed(let identifier, let detail):
                .init(
                    code: 4001, name: "processingFailed",
                    message: identifier.isEmpty ? detail : "\(identifier): \(detail)")
            case .outputFailed(let detail): .init(code: 4002, name: "outputFailed", message: detail)
            case .outputClosed: .init(code: 4003, name: "outputClosed", message: "nobody reads the output any more")
            }
        }
    }

    /// What is wrong with a source.
    public enum SourceErrorReason: Sendable, Equatable {
        /// 5001: there is no source.
        case emptySource
        /// 5003: a file, a list or another provider gave no bytes. `error` is what a provider of the program's own threw.
        case dataProviderError(detail: String, error: UnderlyingError? = nil)
        /// 5004: the source and each alternative have failed, in this order.
        case alternativeSourcesExhausted([PropagationError])
        /// A line of a list that cannot be understood.
        case invalidListRecord(detail: String)

        var description: ErrorDescription {
            switch self {
            case .emptySource: .init(code: 5001, name: "emptySource", message: "there is no source")
            case .dataProviderError(let detail, _): .init(code: 5003, name: "dataProviderError", message: detail)
            case .alternativeSourcesExhausted(let errors):
                .init(
                    code: 5004, name: "alternativeSourcesExhausted",
                    message: "every source failed: " + errors.map(\.error.message).joined(separator: "; "))
            case .invalidListRecord(let detail):
                .init(code: 5007, name: "invalidListRecord", message: detail)
            }
        }
    }
}
