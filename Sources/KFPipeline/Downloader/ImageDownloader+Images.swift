import KFImaging
import KFStorage
import KFTerms
import Synchronization

extension ImageDownloader {
    /// Downloads an image and processes it, without reading or filling a cache. `progressBlock` is called on the
    /// options' ``KingfisherOptions/callbackQueue``.
    public func downloadImage(
        with url: RequestURL, options: KingfisherOptionsInfo? = nil, progressBlock: ProgressHandler? = nil
    ) async throws(KingfisherError) -> ImageLoadingResult {
        let options = KingfisherOptions(options ?? []).reporting(to: progressBlock)
        return try await downloadImage(with: url, options: options, progress: options.progress)
    }

    /// Downloads an image like the `async` function. `completionHandler` is called exactly once, on the options'
    /// ``KingfisherOptions/callbackQueue``.
    @discardableResult
    public func downloadImage(
        with url: RequestURL, options: KingfisherOptionsInfo? = nil, progressBlock: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (Result<ImageLoadingResult, KingfisherError>) -> Void
    ) -> DownloadTask {
        let options = KingfisherOptions(options ?? []).reporting(to: progressBlock)
        return DownloadTask(callingBackOn: options.callbackQueue, completionHandler) {
            () async throws(KingfisherError) in
            try await self.downloadImage(with: url, options: options, progress: options.progress)
        }
    }

    /// Downloads an image with all options given. `progress` is called on the network thread.
    public func downloadImage(
        with url: RequestURL, options: KingfisherOptions, progress: ProgressHandler? = nil
    ) async throws(KingfisherError) -> ImageLoadingResult {
        var options = options.withoutCaches
        options.request = try await options.request.prepared(for: url)
        options.progress = progress
        let manager = KingfisherManager(cache: Self.noCache, downloader: self)
        let retrieval = Retrieval(.network(ImageResource(downloadURL: url)), options, manager.cache)
        let result = try await manager.results(of: retrieval, .pixels, asking: Asking())[0].get()
        guard case .memory(let image, _) = result.content, let pixels = image.image, let bytes = image.bytes,
            case .network(let resource) = result.source
        else { throw .responseError(reason: .noURLResponse) }
        return ImageLoadingResult(
            image: pixels, url: resource.downloadURL, originalData: bytes, response: result.response)
    }

    /// The cache of calls in which no cache takes part.
    private static let noCache = ImageCache(ImageCache.Configuration(directory: nil))
}

extension KingfisherOptions {
    /// The options of a call that makes one request, and from which no cache gets anything. The options for caches change
    /// neither the request nor the accepted statuses.
    fileprivate var withoutCaches: KingfisherOptions {
        var options = self
        (options.targetCache, options.originalCache, options.downloader) = (nil, nil, nil)
        (options.cacheMemoryOnly, options.memoryCacheExpiration) = (true, .expired)
        (options.forceRefresh, options.revalidate, options.cachePolicy) = (false, false, .timeToLive)
        (options.retryStrategy, options.alternativeSources, options.request.mirrors) = (nil, [], [])
        (options.answers, options.tally, options.progressiveJPEG) = (nil, nil, nil)
        options.waitForCache = true
        return options
    }
}

/// A downloaded image. Kingfisher's `ImageLoadingResult`.
public struct ImageLoadingResult: Sendable {
    /// The decoded and processed image.
    public let image: Image
    /// The URL that was requested, after the request modifier and before redirects.
    public let url: RequestURL
    /// The original bytes, as they arrived or as the delegate changed them.
    public let originalData: [UInt8]
    /// The response of the server.
    public let response: ResponseFacts?
}
