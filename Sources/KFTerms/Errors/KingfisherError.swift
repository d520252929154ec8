/// An error of the library, in Kingfisher's classes and with its codes.
///
/// Reasons that Kingfisher does not have take the next free number of their class.
public indirect enum KingfisherError: Error, Sendable, Equatable {
    /// The request could not be made, or was cancelled (1xxx).
    case requestError(reason: RequestErrorReason)
    /// The response brought no usable image (2xxx).
    case responseError(reason: ResponseErrorReason)
    /// The cache failed (3xxx).
    case cacheError(reason: CacheErrorReason)
    /// Decoding, processing or writing the result failed (4xxx).
    case processorError(reason: ProcessorErrorReason)
    /// The source failed (5xxx).
    case sourceError(reason: SourceErrorReason)

    /// The stable number of the reason.
    public var errorCode: Int { description.code }

    /// The name of the reason, as in Kingfisher.
    public var reasonName: String { description.name }

    /// The description of the failure in one clause, with a remedy where one is known. It contains no credentials and
    /// does not name the source.
    public var message: String { description.message }

    /// The status of a refusal by the server; nil for every other error.
    public var httpStatus: Int? {
        switch self {
        case .responseError(reason: .invalidHTTPStatusCode(let status)),
            .responseError(reason: .rememberedHTTPStatusCode(let status, _)):
            status
        default: nil
        }
    }

    /// Whether the error repeats a cached refusal. No request was made then.
    public var isRemembered: Bool { secondsRemembered != nil }

    /// The message, with the time for which a cached refusal is still remembered.
    package var messageNow: String {
        guard case .responseError(reason: .rememberedHTTPStatusCode(_, let seconds)) = self else { return message }
        return "\(message) for another \(SpanText.short(seconds.multiplied(saturating: 1000)))"
    }

    /// The seconds for which a cached refusal, or the measures of an image, are still remembered; nil for every other error.
    public var secondsRemembered: Int64? {
        switch self {
        case .responseError(reason: .rememberedHTTPStatusCode(_, let seconds)): seconds
        case .responseError(reason: .filtered(_, _, let seconds)), .responseError(reason: .optedOut(_, let seconds)):
            seconds
        default: nil
        }
    }

    /// Whether the image was left out: the filter refused it, its server opted out, or it is a duplicate. The command does not
    /// count that as a failure.
    public var isLeftOut: Bool { kind == .leftOut }

    /// Whether the work was cancelled, at any stage.
    public var isCancellation: Bool { kind == .cancelled }

    /// Whether the cache failed. A plain miss (3006) does not count.
    public var isCacheFailure: Bool { kind == .locked || kind == .tooLarge || kind == .cacheFailed }

    /// Whether the image is not cached, or expired, and the options forbid fetching it (3006).
    package var isMiss: Bool { kind == .absent || kind == .expired }

    /// Whether the cache or a remote has failed or lacks the image, and the origin has not been asked.
    package var isOfCache: Bool { isMiss || kind == .locked || kind == .cacheFailed }

    /// Whether the image is cached and expired, and the options forbid fetching it.
    public var isExpiredImage: Bool { kind == .expired }

    /// Whether another process held a lock. A later attempt may succeed.
    public var isLocked: Bool { kind == .locked }

    /// Whether the cache refused only this image, because of its size.
    public var isAboutOneImage: Bool { kind == .tooLarge }

    /// Whether the reader of the output closed it. The command counts that as success.
    public var isClosedOutput: Bool { kind == .outputClosed }

    /// The classes of errors to which code reacts.
    private enum Kind { case cancelled, leftOut, outputClosed, absent, expired, locked, tooLarge, cacheFailed, other }

    private var kind: Kind {
        switch self {
        case .requestError(reason: .taskCancelled): .cancelled
        case .responseError(reason: .filtered), .responseError(reason: .optedOut), .responseError(reason: .duplicate):
            .leftOut
        case .processorError(reason: .outputClosed): .outputClosed
        case .cacheError(reason: .imageNotExisting): .absent
        case .cacheError(reason: .imageExpired): .expired
        case .cacheError(reason: .cacheIsLocked): .locked
        case .cacheError(reason: .imageLargerThanCache): .tooLarge
        case .cacheError: .cacheFailed
        default: .other
        }
    }

    private var description: (code: Int, name: String, message: String) {
        switch self {
        case .requestError(let reason): reason.description
        case .responseError(let reason): reason.description
        case .cacheError(let reason): reason.description
        case .processorError(let reason): reason.description
        case .sourceError(let reason): reason.description
        }
    }
}

extension KingfisherError {
    /// Kingfisher's name for ``isCancellation``.
    public var isTaskCancelled: Bool { isCancellation }

    /// Returns whether the server refused the request with this status.
    public func isInvalidResponseStatusCode(_ code: Int) -> Bool { httpStatus == code }
}

/// An error that the program's own code threw. Two are equal if their types and descriptions are equal.
public struct UnderlyingError: Error, Sendable, Equatable {
    /// The original error.
    public let error: any Error

    /// Wraps an error.
    public init(_ error: any Error) { self.error = error }

    public static func == (a: UnderlyingError, b: UnderlyingError) -> Bool {
        type(of: a.error) == type(of: b.error) && String(describing: a.error) == String(describing: b.error)
    }
}

/// The class of a transfer's failure, for code that reacts to it.
public enum TransferFailure: Sendable, Equatable {
    /// The host name could not be resolved.
    case dns
    /// The connection to the host, or to its proxy, could not be established.
    case connection
    /// The TLS handshake failed, or the certificate is not trusted.
    case tls
    /// A time limit passed: ``TransferOptions/timeout`` for connecting or for less than 1 KiB of data, or
    /// ``TransferOptions/maxTime`` for the whole transfer.
    case timeout
    /// The connection was lost before the end of the body.
    case interrupted
    /// A redirect was not followed: one too many, to a forbidden scheme, or refused by the redirect handler.
    case redirect
    /// ``TransferOptions/deniesPrivateAddresses`` refused the address, or the proxy that the environment names.
    case privateAddress
    /// Any other failure: an unsupported content coding, a header that cannot be sent, a missing libcurl.
    case other
}
