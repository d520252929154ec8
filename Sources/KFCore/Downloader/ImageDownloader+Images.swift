import KFImaging
import KFStorage

extension ImageDownloader {
    /// Downloads an image and processes it; neither asks a cache nor fills one.
    public func downloadImage(
        with url: RequestURL, options: KingfisherOptions = KingfisherOptions(), progress: ProgressHandler? = nil
    ) async throws(KingfisherError) -> ImageLoadingResult {
        let wish = Wish(priority: options.request.priority, progress: progress)
        let request = try await options.request.prepared(for: url)
        let answer = try await download(
            url, request, condition: nil, inspector: options.inspector, store: nil, cache: nil, wish: wish)
        let body: DownloadedImage
        switch answer {
        case .image(let image): body = image
        case .refused(let facts, _), .unchanged(let facts, _):
            throw .responseError(reason: .invalidHTTPStatusCode(facts.status))
        case .stored: throw .responseError(reason: .noURLResponse)
        }
        let bytes = try body.bytes.load()
        let processor = options.processor
        let identifier = (options.decoding + [processor.identifier]).joined(separator: "|>")
        let image = try await body.images.value(for: identifier) { [delegate] () async throws(KingfisherError) in
            let image = try await WorkerPool.processing.run { () throws(KingfisherError) in
                do throws(ImagingError) {
                    return try Allowance(options.decodeLimits, fileBytes: bytes.count).run {
                        () throws(ImagingError) in try processor.process(.data(bytes), options: options.processing)
                    }
                } catch {
                    throw KingfisherError(processing: error, identifier: identifier)
                }
            }
            delegate?.imageDownloader(didDownload: image, for: url, with: body.response)
            return image
        }
        return ImageLoadingResult(image: image, url: url, originalData: bytes, response: body.response)
    }
}

/// A downloaded image. Kingfisher's `ImageLoadingResult`.
public struct ImageLoadingResult: Sendable {
    /// Decoded and processed.
    public let image: Image
    /// The one that was asked for, whatever it was redirected to.
    public let url: RequestURL
    /// The bytes as they came, or as the delegate changed them.
    public let originalData: [UInt8]
    /// How the server answered.
    public let response: ResponseFacts?
}
