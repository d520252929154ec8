/// Everything that can go wrong, in Kingfisher's classes and with its codes; reasons that Kingfisher does not have take
/// the next free number of their class.
public enum KingfisherError: Error, Sendable, Equatable {
    /// What was asked cannot be requested, or was cancelled (1xxx).
    case requestError(reason: RequestErrorReason)
    /// The answer is not what was asked for (2xxx).
    case responseError(reason: ResponseErrorReason)
    /// The cache failed (3xxx).
    case cacheError(reason: CacheErrorReason)
    /// A processor, or the decoding before it, failed (4xxx).
    case processorError(reason: ProcessorErrorReason)
    /// The source itself failed (5xxx).
    case sourceError(reason: SourceErrorReason)

    /// The stable number of the reason.
    public var errorCode: Int { description.code }

    /// The name of the reason, as in Kingfisher.
    public var reasonName: String { description.name }

    /// What happened, and where it helps what to do, in one clause. It names neither the source nor credentials.
    public var message: String { description.message }

    /// Nobody reads the output any more; no reason to complain.
    public var isClosedOutput: Bool { self == .processorError(reason: .outputClosed) }

    /// The status that a server refused with, if that is what happened.
    public var httpStatus: Int? {
        switch self {
        case .responseError(reason: .invalidHTTPStatusCode(let status)),
            .responseError(reason: .rememberedHTTPStatusCode(let status, _)):
            status
        default: nil
        }
    }

    /// A server's answer from a while ago; the server was not asked again.
    public var isRemembered: Bool {
        if case .responseError(reason: .rememberedHTTPStatusCode) = self { return true }
        return false
    }

    /// The work was cancelled, at whatever stage.
    public var isCancellation: Bool { self == .requestError(reason: .taskCancelled) }

    /// The cache, not the source, is what failed.
    public var isCacheFailure: Bool {
        guard case .cacheError(let reason) = self else { return false }
        if case .imageNotExisting = reason { return false }
        return true
    }

    /// Another process is in the way, and may be out of it later.
    public var isLocked: Bool {
        if case .cacheError(reason: .cacheIsLocked) = self { return true }
        return false
    }

    /// The cache refused this image and would take another.
    public var isAboutOneImage: Bool {
        if case .cacheError(reason: .imageLargerThanCache) = self { return true }
        return false
    }

    private var description: ErrorDescription {
        switch self {
        case .requestError(let reason): reason.description
        case .responseError(let reason): reason.description
        case .cacheError(let reason): reason.description
        case .processorError(let reason): reason.description
        case .sourceError(let reason): reason.description
        }
    }
}

/// A reason as users and scripts see it.
struct ErrorDescription {
    let code: Int
    let name: String
    let message: String
}

extension KingfisherError {
    /// Kingfisher's name for ``isCancellation``.
    public var isTaskCancelled: Bool { isCancellation }

    /// Whether a server refused with this status.
    public func isInvalidResponseStatusCode(_ code: Int) -> Bool { httpStatus == code }
}

/// An error that the program's own code threw. Two are equal if their types and their descriptions are.
public struct UnderlyingError: Error, Sendable, Equatable {
    /// As it was thrown.
    public let error: any Error

    /// Keeps the error.
    public init(_ error: any Error) { self.error = error }

    public static func == (a: UnderlyingError, b: UnderlyingError) -> Bool {
        type(of: a.error) == type(of: b.error) && String(describing: a.error) == String(describing: b.error)
    }
}

/// Where a transfer failed, for code that decides what to do about it.
public enum TransferFailure: Sendable, Equatable {
    /// The name of the host could not be resolved.
    case dns
    /// No connection to the host, or to its proxy, could be made.
    case connection
    /// The TLS handshake failed, or the certificate is not trusted.
    case tls
    /// No connection was made in time, the server sent less than 1 KiB in `RequestOptions.timeout`, or the transfer took
    /// longer than `RequestOptions.maxTime`.
    case timeout
    /// The connection was lost before the whole body had come.
    case interrupted
    /// A redirect that is not followed: one too many, to another scheme, or refused by the redirect handler.
    case redirect
    /// The address, or the proxy that the environment names, is refused by `RequestOptions.deniesPrivateAddresses`.
    case privateAddress
    /// Anything else: an encoding that was not asked for, a header that cannot be sent, libcurl missing.
    case other
}
