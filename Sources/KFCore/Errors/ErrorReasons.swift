extension KingfisherError {
    public enum RequestErrorReason: Sendable, Equatable {
        case emptyRequest
        case invalidURL(problem: String)
        case taskCancelled
        case asyncTaskContextCancelled
        case dataProviderCancelled

        var description: ErrorDescription {
            switch self {
            case .emptyRequest:
                .init(code: 1001, name: "emptyRequest", message: "the request modifier gave no request")
            case .invalidURL(let problem): .init(code: 1002, name: "invalidURL", message: problem)
            case .taskCancelled: .init(code: 1003, name: "taskCancelled", message: "cancelled")
            case .asyncTaskContextCancelled:
                .init(code: 1005, name: "asyncTaskContextCancelled", message: "cancelled")
            case .dataProviderCancelled: .init(code: 1006, name: "dataProviderCancelled", message: "cancelled")
            }
        }
    }

    public enum ResponseErrorReason: Sendable, Equatable {
        case invalidURLResponse(detail: String)
        case invalidHTTPStatusCode(Int)
        /// Kingfisher's URLSessionError. `isTransient`: trying again may help.
        case transferError(detail: String, isTransient: Bool)
        case dataModifyingFailed
        case noURLResponse
        case cancelledByDelegate
        /// The bytes are no image; `found` says what they look like.
        case notAnImage(found: String)
        /// The bytes begin as an image and do not hold what they promise.
        case damagedImage(detail: String)
        case tooLarge(detail: String)

        var description: ErrorDescription {
            switch self {
            case .invalidURLResponse(let detail):
                .init(code: 2001, name: "invalidURLResponse", message: detail)
            case .invalidHTTPStatusCode(let status):
                .init(
                    code: 2002, name: "invalidHTTPStatusCode",
                    message: "response \(status)\(HTTPStatus.phrase(status).map { " \($0)" } ?? "")")
            case .transferError(let detail, _): .init(code: 2003, name: "transferError", message: detail)
            case .dataModifyingFailed:
                .init(code: 2004, name: "dataModifyingFailed", message: "the data hook gave no data")
            case .noURLResponse: .init(code: 2005, name: "noURLResponse", message: "there was no response")
            case .cancelledByDelegate:
                .init(code: 2006, name: "cancelledByDelegate", message: "the response was refused by the delegate")
            case .notAnImage(let found):
                .init(code: 2007, name: "notAnImage", message: "not an image: \(found)")
            case .damagedImage(let detail): .init(code: 2008, name: "damagedImage", message: detail)
            case .tooLarge(let detail): .init(code: 2009, name: "tooLarge", message: detail)
            }
        }
    }

    public enum CacheErrorReason: Sendable, Equatable {
        case cannotLoadDataFromDisk(detail: String)
        case cannotCreateDirectory(detail: String)
        case imageNotExisting(key: String)
        case cannotConvertToData(detail: String)
        case cannotSerializeImage(detail: String)
        case cannotCreateCacheFile(detail: String)
        case cannotSetCacheFileAttribute(detail: String)
        case diskStorageIsNotReady(detail: String)
        case diskIsFull(detail: String)
        case imageLargerThanCache(detail: String)
        case cacheIsReadOnly(detail: String)

        var description: ErrorDescription {
            switch self {
            case .cannotLoadDataFromDisk(let detail):
                .init(code: 3004, name: "cannotLoadDataFromDisk", message: "cannot be read from the cache: \(detail)")
            case .cannotCreateDirectory(let detail):
                .init(code: 3005, name: "cannotCreateDirectory", message: detail)
            case .imageNotExisting:
                .init(code: 3006, name: "imageNotExisting", message: "not in the cache")
            case .cannotConvertToData(let detail):
                .init(code: 3007, name: "cannotConvertToData", message: detail)
            case .cannotSerializeImage(let detail):
                .init(code: 3008, name: "cannotSerializeImage", message: detail)
            case .cannotCreateCacheFile(let detail):
                .init(code: 3009, name: "cannotCreateCacheFile", message: "cannot be stored: \(detail)")
            case .cannotSetCacheFileAttribute(let detail):
                .init(code: 3010, name: "cannotSetCacheFileAttribute", message: detail)
            case .diskStorageIsNotReady(let detail):
                .init(code: 3011, name: "diskStorageIsNotReady", message: "the cache cannot be used: \(detail)")
            case .diskIsFull(let detail):
                .init(code: 3013, name: "diskIsFull", message: "cannot be stored, the disk is full: \(detail)")
            case .imageLargerThanCache(let detail):
                .init(code: 3014, name: "imageLargerThanCache", message: "not stored: \(detail)")
            case .cacheIsReadOnly(let detail):
                .init(code: 3015, name: "cacheIsReadOnly", message: "the cache cannot be changed: \(detail)")
            }
        }
    }

    public enum ProcessorErrorReason: Sendable, Equatable {
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

    public enum SourceErrorReason: Sendable, Equatable {
        case emptySource
        case dataProviderError(detail: String)
        /// The errors of the source and of each alternative, in order.
        case alternativeSourcesExhausted([KingfisherError])
        /// A line of a list that cannot be understood.
        case invalidListRecord(detail: String)

        var description: ErrorDescription {
            switch self {
            case .emptySource: .init(code: 5001, name: "emptySource", message: "there is no source")
            case .dataProviderError(let detail): .init(code: 5003, name: "dataProviderError", message: detail)
            case .alternativeSourcesExhausted(let errors):
                .init(
                    code: 5004, name: "alternativeSourcesExhausted",
                    message: "every source failed: " + errors.map(\.message).joined(separator: "; "))
            case .invalidListRecord(let detail):
                .init(code: 5007, name: "invalidListRecord", message: detail)
            }
        }
    }
}
