// The tasks of Kingfisher's documentation that need no view, in Kingfisher's spelling. A line `says:` is a part of what the
// compiler says of its sample; a sample without one compiles as it is.
import Foundation
import KFCore
import KFFoundation

private let url = URL(string: "https://example.com/a.jpg")!
private let key = "key"
private let cache = ImageCache.default
private let downloader = ImageDownloader.default
private let manager = KingfisherManager.shared

/// An image is retrieved without a view
func retrieving() {
    manager.retrieveImage(with: url) { result in
        switch result {
        case .success(let value): print(value.cacheType, value.source)
        case .failure(let error): print(error)
        }
    }
}

/// The image of a result is used
func using(_ value: RetrieveImageResult) -> Image {
    // says: 'image' is unavailable: decoding takes time, and may fail: try await image()
    let image: Image = value.image
    return image
}

/// A resource has a key of its own
func naming() {
    let resource = ImageResource(downloadURL: url, cacheKey: key)
    manager.retrieveImage(with: resource) { _ in }
}

/// The cache is asked whether it has an image, and where
func checking() {
    let processor = RoundCornerImageProcessor(cornerRadius: 20)
    if cache.isCached(forKey: key) { print(cache.imageCachedType(forKey: key)) }
    if cache.isCached(forKey: key, processorIdentifier: processor.identifier) { print(key) }
}

/// An image is taken from the cache
func getting() {
    cache.retrieveImage(forKey: key) { result in
        if case .success(let value) = result { print(value.cacheType, value.image as Any) }
    }
}

/// The sizes of both storages have limits
func limiting() {
    cache.memoryStorage.config.totalCostLimit = 300 * 1024 * 1024
    cache.memoryStorage.config.countLimit = 150
    cache.diskStorage.config.sizeLimit = 1000 * 1024 * 1024
}

/// Both storages have expirations, and a call one of its own
func expiring() {
    cache.memoryStorage.config.expiration = .seconds(600)
    cache.diskStorage.config.expiration = .never
    manager.retrieveImage(with: url, options: [.memoryCacheExpiration(.never)]) { _ in }
}

/// Expired images leave memory every 30 seconds
func sweeping() { cache.memoryStorage.config.cleanInterval = 30 }

/// An image is stored, alone or with its data
func storing(_ image: Image, _ data: Data) {
    cache.store(image, forKey: key)
    cache.store(image, original: data, forKey: key)
}

/// An image is removed, or removed from the disk alone
func removing() {
    cache.removeImage(forKey: key)
    let processor = BlurImageProcessor(blurRadius: 4)
    cache.removeImage(forKey: key, processorIdentifier: processor.identifier, fromMemory: false, fromDisk: true) {
        print("removed")
    }
}

/// The cache is emptied
func clearing() {
    cache.clearMemoryCache()
    cache.clearDiskCache { print("done") }
}

/// Expired images are removed
func cleaning() {
    cache.cleanExpiredMemoryCache()
    cache.cleanExpiredDiskCache { print("done") }
}

/// The size of the disk cache is shown
func measuring() {
    cache.calculateDiskStorageSize { result in
        switch result {
        case .success(let size): print("\(Double(size) / 1024 / 1024) MB")
        case .failure(let error): print(error)
        }
    }
}

/// A cache of its own is used
func owning() {
    let other = ImageCache(name: "other")
    manager.retrieveImage(with: url, options: [.targetCache(other)]) { _ in }
}

/// The cache is passed over, or used alone
func choosing() {
    manager.retrieveImage(with: url, options: [.forceRefresh]) { _ in }
    manager.retrieveImage(with: url, options: [.onlyFromCache]) { _ in }
}

/// An image is on the disk when the handler is called
func waiting() {
    manager.retrieveImage(with: url, options: [.waitForCache]) { _ in
        cache.retrieveImageInDiskCache(forKey: url.cacheKey) { result in
            if case .success(let image) = result { print(image as Any) }
        }
    }
}

/// An image is downloaded without a cache
func downloading() {
    downloader.downloadImage(with: url) { result in
        switch result {
        case .success(let value): print(value.image)
        case .failure(let error): print(error)
        }
    }
}

/// A request gets a header
func modifying() {
    let modifier = AnyModifier { request in
        var r = request
        r.setValue("abc", forHTTPHeaderField: "Access-Token")
        return r
    }
    downloader.downloadImage(with: url, options: [.requestModifier(modifier)]) { _ in }
}

/// A modifier waits for a token
// says: 'AsyncImageDownloadRequestModifier' has been renamed to 'ImageDownloadRequestModifier'
// says: does not conform to protocol 'ImageDownloadRequestModifier'
final class TokenModifier: AsyncImageDownloadRequestModifier {
    // says: protocol requires function 'modified(for:)'
    func modified(for request: ImageDownloadRequest, reportModified: @escaping (ImageDownloadRequest?) -> Void) {
        reportModified(request)
    }
}

/// A download is cancelled
func cancelling() {
    let task = downloader.downloadImage(with: url) { result in
        if case .failure(let error) = result { print(error.isTaskCancelled) }
    }
    // says: cannot use optional chaining on non-optional value of type 'DownloadTask'
    task?.cancel()
}

/// A responder answers challenges
// says: does not conform to protocol 'AuthenticationChallengeResponsible'
final class Responder: AuthenticationChallengeResponsible {
    // says: protocol requires function 'answer(to:)'
    func downloader(_ downloader: ImageDownloader, didReceive challenge: DownloadChallenge) async {}
}

/// Downloads have a minute
// says: 'downloadTimeout' is unavailable: an option of each request: .with { $0.request.timeout = 60 }
func timing() { downloader.downloadTimeout = 60 }

/// A request has a minute
func timingOne() {
    let modifier = AnyModifier { request in
        var r = request
        // says: 'timeoutInterval' is unavailable: an option of the call: .with { $0.request.timeout = 60 }
        r.timeoutInterval = 60
        return r
    }
    downloader.downloadImage(with: url, options: [.requestModifier(modifier)]) { _ in }
}

/// The default processor and serializer are named
func defaults() {
    manager.retrieveImage(
        with: url,
        options: [.processor(DefaultImageProcessor.default), .cacheSerializer(DefaultCacheSerializer.default)]
    ) { _ in }
}

/// Each of the processors is made
func processing() -> [any ImageProcessor] {
    [
        RoundCornerImageProcessor(cornerRadius: 20),
        DownsamplingImageProcessor(size: CGSize(width: 100, height: 100)),
        CroppingImageProcessor(size: CGSize(width: 100, height: 100), anchor: CGPoint(x: 0.5, y: 0.5)),
        BlurImageProcessor(blurRadius: 5.0),
        OverlayImageProcessor(overlay: .red, fraction: 0.7),
        TintImageProcessor(tint: .blue),
        ColorControlsProcessor(brightness: 1.0, contrast: 0.7, saturation: 1.1, inputEV: 0.7),
        BlackWhiteProcessor(),
        BlendImageProcessor(blendMode: .darken, alpha: 1.0, backgroundColor: .lightGray),
    ]
}

/// Two processors run one after the other, and the result is a PNG
func chaining() {
    let processor = BlurImageProcessor(blurRadius: 4) |> RoundCornerImageProcessor(cornerRadius: 20)
    manager.retrieveImage(
        with: url, options: [.processor(processor), .cacheSerializer(FormatIndicatedCacheSerializer.png)]
    ) { _ in }
}

/// A processor of one's own
// says: does not conform to protocol 'ImageProcessor'
// says: protocol requires function 'process(_:options:)'
struct OwnProcessor: ImageProcessor {
    let identifier = "com.example.own"
    // says: 'KingfisherParsedOptionsInfo' has been renamed to 'KingfisherOptions'
    // says: 'KFCrossPlatformImage' has been renamed to 'Image'
    func process(item: ImageProcessItem, options: KingfisherParsedOptionsInfo) -> KFCrossPlatformImage? { nil }
}

/// A serializer of one's own
// says: does not conform to protocol 'CacheSerializer'
// says: protocol requires property 'identifier'
struct OwnSerializer: CacheSerializer {
    // says: 'KFCrossPlatformImage' has been renamed to 'Image'
    func data(with image: KFCrossPlatformImage, original: Data?) -> Data? { nil }
    // says: 'KingfisherParsedOptionsInfo' has been renamed to 'KingfisherOptions'
    // says: 'KFCrossPlatformImage' has been renamed to 'Image'
    func image(with data: Data, options: KingfisherParsedOptionsInfo?) -> KFCrossPlatformImage? { nil }
}

/// Images are prefetched
func prefetching() {
    let prefetcher = ImagePrefetcher(urls: [url]) { skipped, failed, completed in print(completed) }
    prefetcher.start()
    ImagePrefetcher(resources: [url]).start()
}

/// A provider of one's own
// says: does not conform to protocol 'ImageDataProvider'
struct OwnProvider: ImageDataProvider {
    let cacheKey = "own"
    // says: protocol requires property 'name'
    func data(handler: @escaping @Sendable (Result<Data, any Error>) -> Void) { handler(.success(Data())) }
}

/// A failed retrieval is repeated, or another source is tried
func retrying() {
    let retry = DelayRetryStrategy(maxRetryCount: 5, retryInterval: .seconds(3))
    manager.retrieveImage(
        with: .network(url), options: [.retryStrategy(retry), .alternativeSources([.network(url)])]
    ) { _ in }
}

/// Bytes in memory are an image
func reading() {
    let provider = Base64ImageDataProvider(base64String: "aGk=", cacheKey: key)
    manager.retrieveImage(with: provider.convertToSource(), options: nil) { _ in }
}
