import KFImaging

/// Is told of transfers, and may change what comes of them. Kingfisher's `ImageDownloaderDelegate`. Each method has a
/// default that changes nothing. They are called from any thread.
public protocol ImageDownloaderDelegate: AnyObject, Sendable {
    /// A transfer is about to start. Once for each, however many wait for it. The request is as the modifier left it; its
    /// headers may hold secrets.
    func imageDownloader(willDownloadImageFor url: RequestURL, with request: ImageDownloadRequest)
    /// The transfer has ended, well or not; exactly once for each that was to start. A body that the delegate or the check
    /// has refused comes with that error.
    func imageDownloader(
        didFinishDownloadingImageFor url: RequestURL, with response: ResponseFacts?,
        error: KingfisherError?)
    /// The body, to be used as it is or changed; nil fails with `dataModifyingFailed` (2004).
    func imageDownloader(didDownload data: [UInt8], for url: RequestURL) -> [UInt8]?
    /// An image was made of the body; once for each distinct processor, and once for all who take the body as it is.
    func imageDownloader(
        didDownload image: Image, for url: RequestURL, with response: ResponseFacts?)
    /// Whether images that a manager stores as they came are decoded, just to be handed to the method above; by default
    /// they are. What kf cannot decode is not handed over.
    var wantsUnprocessedImages: Bool { get }
    /// Whether an answer with this status is taken; 200 and 203 by default. A status that says of itself that it brings
    /// no image is not asked about: 1xx, redirects, 206 and 304.
    func isValidStatusCode(_ code: Int) -> Bool
    /// The head of an answer that would be taken; `.cancel` fails with `cancelledByDelegate` (2006).
    func imageDownloader(
        didReceive response: ResponseFacts, for url: RequestURL
    ) async -> ResponseDisposition
}

/// What a delegate says to the head of an answer.
public enum ResponseDisposition: Sendable {
    /// The body is to come.
    case allow
    /// The transfer ends here, with `cancelledByDelegate` (2006).
    case cancel
}

extension ImageDownloaderDelegate {
    public func imageDownloader(willDownloadImageFor url: RequestURL, with request: ImageDownloadRequest) {}

    public var wantsUnprocessedImages: Bool { true }

    public func imageDownloader(
        didFinishDownloadingImageFor url: RequestURL, with response: ResponseFacts?,
        error: KingfisherError?
    ) {}

    public func imageDownloader(
        didDownload data: [UInt8], for url: RequestURL
    ) -> [UInt8]? { data }

    public func imageDownloader(
        didDownload image: Image, for url: RequestURL, with response: ResponseFacts?
    ) {}

    public func isValidStatusCode(_ code: Int) -> Bool { code == 200 || code == 203 }

    public func imageDownloader(
        didReceive response: ResponseFacts, for url: RequestURL
    ) async -> ResponseDisposition { .allow }
}

/// Answers the authentication challenges of servers. Kingfisher's `AuthenticationChallengeResponsible`.
public protocol AuthenticationChallengeResponsible: AnyObject, Sendable {
    /// The name of the user whose credentials the responder gives. Its digest is part of the cache key of everything that
    /// the downloader brings; an empty name stands for all users.
    ///
    /// With nil, the default, an image that needed the responder's credentials or trust is delivered and not cached.
    var cacheIdentity: String? { get }
    /// Returns the answer to a challenge. Called once for each origin of a transfer.
    func answer(to challenge: DownloadChallenge) async -> DownloadChallengeAnswer
}

extension AuthenticationChallengeResponsible {
    public var cacheIdentity: String? { nil }
}
