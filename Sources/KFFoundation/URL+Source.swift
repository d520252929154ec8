import Foundation
import KFCore

extension URL: SourceConvertible {
    /// An http or https URL is downloaded, a file URL is read. Any other becomes a source that fails with `invalidURL`
    /// (1002), a file that is not there one that fails with `dataProviderError` (5003).
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
    /// Throws `invalidURL` (1002) for a URL that is not http or https.
    public init(_ url: URL) throws(KingfisherError) { try self.init(url.absoluteURL.absoluteString) }

    /// The normal form as Foundation's URL; nil where Foundation does not read it.
    public var url: URL? { URL(string: text) }
}

extension ImageResource {
    /// Without a key, the URL's normal form is the key. Throws `invalidURL` (1002) for a URL that is not http or https.
    public init(downloadURL: URL, cacheKey: String? = nil) throws(KingfisherError) {
        self.init(downloadURL: try RequestURL(downloadURL), cacheKey: cacheKey)
    }
}

extension LocalFileImageDataProvider {
    /// The file of a file URL. Throws `dataProviderError` (5003) when there is no such regular file.
    public init(fileURL: URL, cacheKey: String? = nil) throws(KingfisherError) {
        try self.init(path: fileURL.path, cacheKey: cacheKey)
    }
}

extension ImageDownloader {
    /// As `downloadImage(with:options:progressBlock:)`. Throws `invalidURL` (1002) for a URL that is not http or https.
    public func downloadImage(
        with url: URL, options: KingfisherOptionsInfo = [], progressBlock: ProgressHandler? = nil
    ) async throws(KingfisherError) -> ImageLoadingResult {
        try await downloadImage(with: try RequestURL(url), options: options, progressBlock: progressBlock)
    }

    /// Ends every transfer of this URL; all who wait for it get `taskCancelled` (1003).
    public func cancel(url: URL) {
        // No transfer has a URL that is not http or https.
        if let url = try? RequestURL(url) { cancel(url: url) }
    }
}
