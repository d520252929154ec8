import Foundation
import KFCore
import KFTerms

extension URL: Resource {
    /// Returns the source of a URL: http and https are downloaded, a file URL is read.
    ///
    /// Any other URL becomes a source that fails with `invalidURL` (1002). A file that is missing or a directory
    /// becomes one that fails with `dataProviderError` (5003).
    public func convertToSource() -> Source { convertToSource(overrideCacheKey: nil) }

    /// Returns the source of a URL like ``convertToSource()``, with this cache key in place of its own.
    public func convertToSource(overrideCacheKey: String?) -> Source {
        do throws(KingfisherError) {
            if isFileURL {
                return .provider(try LocalFileImageDataProvider(fileURL: self, cacheKey: overrideCacheKey))
            }
            let url = try RequestURL(self)
            return .network(overrideCacheKey.map { ImageResource(downloadURL: url, cacheKey: $0) } ?? url)
        } catch {
            return .provider(FailedSource(name: RequestURL.redacted(absoluteString), error: error))
        }
    }

    /// The cache key of the URL's source: the normal form of an http or https URL, with a digest of its credentials if it
    /// has any. The key of a file changes when the file does.
    public var cacheKey: String { convertToSource().cacheKey }

    /// The URL to request. Requests of a URL other than http and https fail with `invalidURL` (1002).
    public var downloadURL: RequestURL {
        do throws(KingfisherError) { return try RequestURL(self) } catch { return RequestURL(invalid: absoluteString) }
    }
}

extension Source {
    /// Returns the source of a URL, as `URL.convertToSource()` does.
    public static func network(_ url: URL) -> Source { url.convertToSource() }

    /// The URL of a source that is downloaded; nil for any other source.
    public var url: URL? {
        guard case .network(let resource) = self else { return nil }
        return resource.downloadURL.url
    }
}

extension ImageDataProvider {
    /// Returns the source that reads from the provider.
    public func convertToSource() -> Source { .provider(self) }
}

extension RequestURL {
    /// Creates a URL from Foundation's. Throws `invalidURL` (1002) unless it is http or https.
    public init(_ url: URL) throws(KingfisherError) { try self.init(url.absoluteURL.absoluteString) }

    /// The normal form as Foundation's URL; nil if Foundation cannot parse it.
    public var url: URL? { URL(string: text) }
}

extension ImageResource {
    /// Creates a resource. Without a key, the URL's normal form is the key. Requests of a URL other than http and https
    /// fail with `invalidURL` (1002).
    public init(downloadURL: URL, cacheKey: String? = nil) {
        self.init(downloadURL: downloadURL.downloadURL, cacheKey: cacheKey)
    }
}

extension LocalFileImageDataProvider {
    /// Creates a provider of the file of a file URL. Without a key, throws `dataProviderError` (5003) if the file is
    /// missing or a directory.
    public init(fileURL: URL, cacheKey: String? = nil) throws(KingfisherError) {
        try self.init(path: fileURL.path, cacheKey: cacheKey)
    }
}

extension ImageDownloader {
    /// Downloads an image like `downloadImage(with:options:progressBlock:)`. Throws `invalidURL` (1002) unless the URL
    /// is http or https.
    public func downloadImage(
        with url: URL, options: KingfisherOptionsInfo? = nil, progressBlock: ProgressHandler? = nil
    ) async throws(KingfisherError) -> ImageLoadingResult {
        try await downloadImage(with: try RequestURL(url), options: options, progressBlock: progressBlock)
    }

    /// Downloads an image like the `async` function. `completionHandler` is called exactly once, on the options'
    /// ``KingfisherOptions/callbackQueue``.
    @discardableResult
    public func downloadImage(
        with url: URL, options: KingfisherOptionsInfo? = nil, progressBlock: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (Result<ImageLoadingResult, KingfisherError>) -> Void
    ) -> DownloadTask {
        downloadImage(
            with: url.downloadURL, options: options, progressBlock: progressBlock, completionHandler: completionHandler)
    }

    /// Cancels every transfer of this URL. All of its waiters get `taskCancelled` (1003).
    public func cancel(url: URL) {
        // Only http and https URLs have transfers.
        if let url = try? RequestURL(url) { cancel(url: url) }
    }
}
