/// A request as it is about to be made. A modifier or a redirect handler may change it.
public struct ImageDownloadRequest: Sendable {
    /// Nil is a request that cannot be made: `invalidURL` (1002).
    public var url: RequestURL?
    /// Beside those that kf sends by itself, such as User-Agent.
    public var headers: [(name: String, value: String)]

    /// A request in place of the one that was to be made.
    public init(url: RequestURL?, headers: [(name: String, value: String)] = []) {
        self.url = url
        self.headers = headers
    }
}

/// Changes requests before they are made, to sign them for example. Kingfisher's `AsyncImageDownloadRequestModifier`.
///
/// Two calls share an image, in a cache or in a transfer, when their modified requests are the same: see <doc:Identity>.
/// When the modified URL has another origin, credentials and headers of the options that may be secrets are not sent there;
/// headers that the modifier adds are.
public protocol ImageDownloadRequestModifier: Sendable {
    /// Names what the modifier's requests bring, in place of what they look like: the user's id, for example. It is stored
    /// as a digest.
    ///
    /// - nil, the default: the modified request is the identity. The modifier runs once for each retrieval, before the
    ///   caches are asked, also when the image is cached; when it gives nothing, the retrieval fails. Retries repeat the
    ///   request that it gave. Not for signatures that differ each time: every call would be a miss.
    /// - a name: the modifier runs before each transfer, and not for a cached image. Modifiers of the same name are taken
    ///   to bring the same image.
    /// - an empty name: the same, and everybody may have the image.
    var cacheIdentity: String? { get }
    /// Told of the download of each call with this modifier: when its transfer starts, or when it joins one. Cancelling the
    /// task ends that call alone. Not called for a cached image.
    var onDownloadTaskStarted: (@Sendable (DownloadTask) -> Void)? { get }
    /// Nil makes no request: `emptyRequest` (1001).
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

    /// `modify` is called as `modified(for:)` is, from any thread.
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

/// Has a say in redirects. Kingfisher's `ImageDownloadRedirectHandler`. Whatever it gives back is still under the rules
/// that hold for every redirect: http and https only, never from https to http, at most `maxRedirects`.
///
/// It is asked about transfers, not about cached images.
public protocol ImageDownloadRedirectHandler: Sendable {
    /// Names what comes of the handler's decisions: it is part of the cache key, as a digest. Handlers of the same name
    /// are taken to decide alike; an empty name stands for the image that everybody gets.
    ///
    /// Nil, the default: a call with the handler shares no transfer, and an image that came by a redirect which the
    /// handler changed is given out and not cached.
    var cacheIdentity: String? { get }
    /// `status` is the redirect's, `url` the one that was redirected; nil refuses to go on.
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

    /// `handle` is called as `handleRedirection(status:from:newRequest:)` is, from any thread.
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

/// A request as it goes to its origin: with what the options say, and what a modifier made of it.
struct PreparedRequest: Sendable {
    let url: RequestURL
    let credentials: Credentials?
    let headers: [(name: String, value: String)]
}
