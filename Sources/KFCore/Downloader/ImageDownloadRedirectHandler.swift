/// Has a say in redirects. Kingfisher's `ImageDownloadRedirectHandler`. Whatever it gives back is still under the rules
/// that hold for every redirect: http and https only, never from https to http, at most `maxRedirects`.
public protocol ImageDownloadRedirectHandler: Sendable {
    /// `status` is the redirect's, `url` the one that was redirected; nil refuses to go on.
    func handleRedirection(
        status: Int, from url: RequestURL, newRequest: ImageDownloadRequest
    ) async -> ImageDownloadRequest?
}

/// A redirect handler made of a closure.
public struct AnyRedirectHandler: ImageDownloadRedirectHandler {
    private let handle: @Sendable (Int, RequestURL, ImageDownloadRequest) async -> ImageDownloadRequest?

    /// `handle` is called as `handleRedirection(status:from:newRequest:)` is, from any thread.
    public init(handle: @escaping @Sendable (Int, RequestURL, ImageDownloadRequest) async -> ImageDownloadRequest?) {
        self.handle = handle
    }

    public func handleRedirection(
        status: Int, from url: RequestURL, newRequest: ImageDownloadRequest
    ) async -> ImageDownloadRequest? {
        await handle(status, url, newRequest)
    }
}
