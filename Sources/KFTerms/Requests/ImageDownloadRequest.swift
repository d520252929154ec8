import KFNetwork

/// A request that is about to be made. A modifier or a redirect handler may change it.
public struct ImageDownloadRequest: Sendable {
    /// The URL; nil fails with `invalidURL` (1002).
    public var url: RequestURL?
    /// The headers, beside those that kf adds by itself, such as User-Agent.
    public var headers: [(name: String, value: String)]

    /// Creates a request.
    public init(url: RequestURL?, headers: [(name: String, value: String)] = []) {
        self.url = url
        self.headers = headers
    }
}

/// A modifier of requests, for example to sign them. Kingfisher's `AsyncImageDownloadRequestModifier`.
///
/// Two calls share a cached image or a transfer if their modified requests are equal: see <doc:Identity>. If the
/// modified URL has another origin, credentials and secret headers of the options are not sent there. Headers that the
/// modifier adds are sent.
public protocol ImageDownloadRequestModifier: Sendable {
    /// A name for the images that the modified requests bring, in place of the requests themselves: the user's id, for
    /// example. It is stored as a digest.
    ///
    /// - nil, the default: the modified request is the identity. The modifier runs once for each retrieval, before the
    ///   look-up, even for a cached image. If it returns nil, the retrieval fails. Retries repeat the request that it
    ///   returned. Not suitable for signatures that differ each time: every call would be a miss.
    /// - a name: the modifier runs before each transfer, and not for a cached image. Modifiers with the same name are
    ///   assumed to bring the same image.
    /// - an empty name: as with a name, and all callers share the image.
    var cacheIdentity: String? { get }
    /// Called with the download of each call with this modifier, when its transfer starts or when it joins one.
    /// Cancelling the task ends only that call. Not called for a cached image.
    var onDownloadTaskStarted: (@Sendable (DownloadTask) -> Void)? { get }
    /// Returns the request to make. Nil fails with `emptyRequest` (1001).
    func modified(for request: ImageDownloadRequest) async -> ImageDownloadRequest?
}

extension ImageDownloadRequestModifier {
    public var cacheIdentity: String? { nil }

    public var onDownloadTaskStarted: (@Sendable (DownloadTask) -> Void)? { nil }
}

/// A modifier made of a closure.
public struct AnyModifier: ImageDownloadRequestModifier {
    public let cacheIdentity: String?
    public let onDownloadTaskStarted: (@Sendable (DownloadTask) -> Void)?
    private let modify: @Sendable (ImageDownloadRequest) async -> ImageDownloadRequest?

    /// Creates a modifier from a closure, which is called like ``ImageDownloadRequestModifier/modified(for:)``, from
    /// any thread.
    public init(
        cacheIdentity: String? = nil, onDownloadTaskStarted: (@Sendable (DownloadTask) -> Void)? = nil,
        modify: @escaping @Sendable (ImageDownloadRequest) async -> ImageDownloadRequest?
    ) {
        self.cacheIdentity = cacheIdentity
        self.onDownloadTaskStarted = onDownloadTaskStarted
        self.modify = modify
    }

    public func modified(for request: ImageDownloadRequest) async -> ImageDownloadRequest? { await modify(request) }
}

/// A handler that may change or refuse redirects. Kingfisher's `ImageDownloadRedirectHandler`.
///
/// Every redirect, changed or not, must use http or https, must not lead from https to http, and counts towards
/// ``TransferOptions/maxRedirects``. The handler is called during transfers, not for cached images.
public protocol ImageDownloadRedirectHandler: Sendable {
    /// A name for the handler's decisions. Its digest is part of the cache key. Handlers with the same name are assumed
    /// to decide alike; with an empty name, all callers share the image.
    ///
    /// With nil, the default, a call with the handler shares no transfer. An image is delivered and not cached if the
    /// handler changed one of its redirects.
    var cacheIdentity: String? { get }
    /// Returns the request to make next; nil refuses the redirect. `status` is the redirect's status, `url` the
    /// redirected URL.
    func handleRedirection(
        status: Int, from url: RequestURL, newRequest: ImageDownloadRequest
    ) async -> ImageDownloadRequest?
}

extension ImageDownloadRedirectHandler {
    public var cacheIdentity: String? { nil }
}

/// A redirect handler made of a closure.
public struct AnyRedirectHandler: ImageDownloadRedirectHandler {
    public let cacheIdentity: String?
    private let handle: @Sendable (Int, RequestURL, ImageDownloadRequest) async -> ImageDownloadRequest?

    /// Creates a handler from a closure, which is called like
    /// ``ImageDownloadRedirectHandler/handleRedirection(status:from:newRequest:)``, from any thread.
    public init(
        cacheIdentity: String? = nil,
        handle: @escaping @Sendable (Int, RequestURL, ImageDownloadRequest) async -> ImageDownloadRequest?
    ) {
        self.cacheIdentity = cacheIdentity
        self.handle = handle
    }

    public func handleRedirection(
        status: Int, from url: RequestURL, newRequest: ImageDownloadRequest
    ) async -> ImageDownloadRequest? {
        await handle(status, url, newRequest)
    }
}

/// The final request to the origin, from the options and the modifier.
package struct PreparedRequest: Sendable {
    package let url: RequestURL
    package let scope: OriginScope
}
