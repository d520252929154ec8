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
