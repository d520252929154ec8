import KFImaging
import KFNetwork

/// A delegate that observes transfers and may change their results. Kingfisher's `ImageDownloaderDelegate`.
///
/// Each method has a default that changes nothing. The methods are called from any thread.
///
/// A method with other labels or types than one of these compiles, and is never called. A debug build prints such methods
/// when the delegate is set. If the conformance is declared in an extension, the compiler warns of other types, too.
public protocol ImageDownloaderDelegate: _NearDelegateMethods, _KingfisherDelegateMethods, Sendable {
    /// Called before each transfer, once for all of its waiters. The request includes the modifier's changes; its
    /// headers may hold secrets. Kingfisher's `imageDownloader(_:willDownloadImageForURL:with:)`.
    func imageDownloader(willDownloadImageFor url: RequestURL, with request: ImageDownloadRequest)
    /// Called exactly once at the end of each announced transfer. `error` is set as well when the delegate or the check
    /// refused the body. Kingfisher's `imageDownloader(_:didFinishDownloadingImageForURL:with:error:)`.
    func imageDownloader(
        didFinishDownloadingImageFor url: RequestURL, with response: ResponseFacts?,
        error: KingfisherError?)
    /// Returns the body to use, changed or not. Nil fails with `dataModifyingFailed` (2004). Kingfisher's
    /// `imageDownloader(_:didDownload:for:)`, with bytes in place of `Data`.
    func imageDownloader(didDownload data: [UInt8], for url: RequestURL) -> [UInt8]?
    /// Called with each image made from the body: once per distinct processor, and once for all callers of the
    /// unprocessed image. Kingfisher's `imageDownloader(_:didDownload:for:with:)`.
    func imageDownloader(
        didDownload image: Image, for url: RequestURL, with response: ResponseFacts?)
    /// Whether unprocessed images are decoded only to be passed to the method above. The default is true. Images that
    /// kf cannot decode are not passed.
    var wantsUnprocessedImages: Bool { get }
    /// Returns whether a response with this status is accepted; by default 200 and 203 are. Not called for statuses
    /// that cannot bring a whole image: 1xx, redirects, 206 and 304. Kingfisher's `isValidStatusCode(_:for:)`.
    func isValidStatusCode(_ code: Int) -> Bool
    /// Returns whether to receive the body of an accepted response. `.cancel` fails with `cancelledByDelegate` (2006).
    /// Kingfisher's `imageDownloader(_:didReceive:)`.
    func imageDownloader(didReceive response: ResponseFacts, for url: RequestURL) async -> ResponseDisposition
}

extension ImageDownloaderDelegate {
    public func imageDownloader(willDownloadImageFor url: RequestURL, with request: ImageDownloadRequest) {}

    public var wantsUnprocessedImages: Bool { true }

    public func imageDownloader(
        didFinishDownloadingImageFor url: RequestURL, with response: ResponseFacts?,
        error: KingfisherError?
    ) {}

    public func imageDownloader(didDownload data: [UInt8], for url: RequestURL) -> [UInt8]? { data }

    public func imageDownloader(didDownload image: Image, for url: RequestURL, with response: ResponseFacts?) {}

    public func isValidStatusCode(_ code: Int) -> Bool { code == 200 || code == 203 }

    public func imageDownloader(
        didReceive response: ResponseFacts, for url: RequestURL
    ) async -> ResponseDisposition { .allow }
}

/// A responder to the authentication challenges of servers. Kingfisher's `AuthenticationChallengeResponsible`.
public protocol AuthenticationChallengeResponsible: AnyObject, Sendable {
    /// The name of the user whose credentials the responder gives. Its digest is part of the cache key of everything
    /// that the downloader brings; an empty name stands for all users.
    ///
    /// With nil, the default, an image that needed the responder's credentials or trust is delivered and not cached.
    var cacheIdentity: String? { get }
    /// Returns the answer to a challenge. Called once for each origin of a transfer.
    func answer(to challenge: DownloadChallenge) async -> DownloadChallengeAnswer
}

extension AuthenticationChallengeResponsible {
    public var cacheIdentity: String? { nil }
}
