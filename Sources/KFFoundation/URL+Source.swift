import Foundation
import KFCore
import KFTerms

extension URL: SourceConvertible {
    /// Returns the source of a URL: http and https are downloaded, a file URL is read.
    ///
    /// Any other URL becomes a source that fails with `invalidURL` (1002). A file that is missing or a directory
    /// becomes one that fails with `dataProviderError` (5003).
    public func convertToSource() -> Source {
        do throws(KingfisherError) {
            if isFileURL { return .provider(try LocalFileImageDataProvider(fileURL: self)) }
            return .network(try RequestURL(self))
        } catch {
            return .provider(FailedSource(name: RequestURL.redacted(absoluteString), error: error))
        }
    }
}

extension RequestURL {
    /// Creates a URL from Foundation's. Throws `invalidURL` (1002) unless it is http or https.
    public init(_ url: URL) throws(KingfisherError) { try self.init(url.absoluteURL.absoluteString) }

    /// The normal form as Foundation's URL; nil if Foundation cannot parse it.
    public var url: URL? { URL(string: text) }
}

extension ImageResource {
    /// Creates a resource. Without a key, the URL's normal form is the key. Throws `invalidURL` (1002) unless the URL
    /// is http or https.
    public init(downloadURL: URL, cacheKey: String? = nil) throws(KingfisherError) {
        self.init(downloadURL: try RequestURL(downloadURL), cacheKey: cacheKey)
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
        with url: URL, options: KingfisherOptionsInfo = [], progressBlock: ProgressHandler? = nil
    ) async throws(KingfisherError) -> ImageLoadingResult {
        try await downloadImage(with: try RequestURL(url), options: options, progressBlock: progressBlock)
    }

    /// Cancels every transfer of this URL. All of its waiters get `taskCancelled` (1003).
    public func cancel(url: URL) {
        // Only http and https URLs have transfers.
        if let url = try? RequestURL(url) { cancel(url: url) }
    }
}
