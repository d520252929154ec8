// Each row of the tables in FromKingfisher.md, in Kingfisher's spelling, followed by the one that replaces it. A line `says:`
// is a part of what the compiler says of its row; a row without one compiles as it is.
import Foundation
import KFCore
import KFFoundation

private let url = URL(string: "https://example.com/a.jpg")!
private let key = "key"
private let bytes = Data()
private let cache = ImageCache.default
private let downloader = ImageDownloader.default
private let manager = KingfisherManager.shared

/// `KingfisherManager.shared`, `ImageCache.default`, `ImageDownloader.default`
func row1() async {
    _ = (KingfisherManager.shared, ImageCache.default, ImageDownloader.default)
    await manager.shutdown()
}

/// `KingfisherManager(downloader:cache:)`
func row2() { _ = KingfisherManager(downloader: .default, cache: .default) }

/// `ImageCache(name:)`
func row3() throws {
    _ = ImageCache(name: "own")
    _ = ImageCache(name: "own", cacheDirectoryURL: URL(fileURLWithPath: "/tmp"))
    _ = ImageCache(.init(directory: "/tmp/own"))
}

/// `ImageDownloader(name:)`
func row4() {
    // says: a downloader has no name: ImageDownloader()
    _ = ImageDownloader(name: "own")
    _ = ImageDownloader()
}

/// `retrieveImage(with:options:)`, with a completion handler too
func row5() async throws {
    _ = try await manager.retrieveImage(with: url)
    _ = try await manager.retrieveImage(with: url, options: nil)
    _ = try await manager.retrieveImage(with: .network(url), options: [.forceRefresh])
    manager.retrieveImage(with: url, options: nil) { _ in }
}

/// `progressBlock: { received, total in … }`
func row6() {
    // says: cannot convert value of type 'Int64?' to expected argument type 'Int64'
    manager.retrieveImage(with: url, progressBlock: { print($0 + $1) }) { _ in }
    manager.retrieveImage(with: url, progressBlock: { print($0 + ($1 ?? 0)) }) { _ in }
}

/// `downloadTaskUpdated:`
func row7() {
    // says: extra arguments at positions #2, #3 in call
    manager.retrieveImage(with: url, downloadTaskUpdated: { (_: DownloadTask?) in }) { _ in }
}

/// `result.image`
func row8(_ result: RetrieveImageResult) async throws -> [Image] {
    // says: 'image' is unavailable: decoding takes time, and may fail: try await image()
    let image: Image = result.image
    return [image, try await result.image()]
}

/// `result.data()`
func row9(_ result: RetrieveImageResult) async throws {
    // says: expression is 'async' but is not marked with 'await'
    // says: call can throw but is not marked with 'try'
    let bytes = result.data()
    print(bytes, try await result.data())
}

/// `result.cacheType`, `result.source`, `result.originalSource`
func row10(_ result: RetrieveImageResult) {
    print(
        result.cacheType == .none, result.cacheType.cached, result.source.url as Any, result.originalSource, result.way)
}

/// `result.metrics`
func row11(_ result: RetrieveImageResult) {
    // says: use response?.metrics
    print(result.metrics as Any)
    print(result.response?.metrics as Any)
}

/// `cache.store(_:original:forKey:)`, `storeToDisk(_:forKey:)`
func row12(_ image: Image) async {
    await cache.store(image, original: bytes, forKey: key)
    await cache.store(image, forKey: key)
    await cache.storeToDisk(bytes, forKey: key)
    cache.store(image, original: bytes, forKey: key) { result in
        print(result.memoryCacheResult, result.diskCacheResult)
    }
    cache.storeToDisk(bytes, forKey: key, expiration: .never, callbackQueue: .mainAsync) { _ in }
}

/// `cache.retrieveImage(forKey:)`, `retrieveImageInMemoryCache(forKey:)`, `retrieveImageInDiskCache(forKey:)`
func row13() async throws {
    print(try await cache.retrieveImage(forKey: key, options: nil).image as Any)
    print(cache.retrieveImageInMemoryCache(forKey: key) as Any)
    print(try await cache.retrieveImageInDiskCache(forKey: key) as Any)
    cache.retrieveImage(forKey: key, options: nil, callbackQueue: .mainCurrentOrAsync) { _ in }
    cache.retrieveImageInDiskCache(forKey: key) { _ in }
}

/// `cache.isCached(forKey:)`, `imageCachedType(forKey:)`
func row14() {
    print(cache.isCached(forKey: key), cache.imageCachedType(forKey: key, processorIdentifier: "blur:4"))
    Task { print(try await cache.isCached(forKey: key), try await cache.imageCachedType(forKey: key)) }
}

/// `cache.imageCachedTypeAsync(forKey:)`
func row15() async {
    // says: await imageCachedType(forKey:processorIdentifier:)
    print(await cache.imageCachedTypeAsync(forKey: key))
    // says: await imageCachedType(forKey:processorIdentifier:)
    cache.imageCachedTypeAsync(forKey: key) { print($0) }
}

/// `cache.removeImage(forKey:fromMemory:fromDisk:)`
func row16() async throws {
    try await cache.removeImage(forKey: key, fromMemory: true, fromDisk: true)
    cache.removeImage(forKey: key, fromMemory: true, fromDisk: true) {}
}

/// `clearMemoryCache()`, `clearDiskCache()`, `clearCache()`, `cleanExpiredCache()`, `cleanExpiredDiskCache()`
func row17() async throws {
    cache.clearMemoryCache()
    try await cache.clearDiskCache()
    try await cache.clearCache()
    try await cache.cleanExpiredCache()
    try await cache.cleanExpiredDiskCache()
    cache.clearDiskCache {}
    cache.clearCache {}
    cache.cleanExpiredCache {}
    cache.cleanExpiredDiskCache {}
}

/// `calculateDiskStorageSize`
func row18() async throws {
    cache.calculateDiskStorageSize { print($0) }
    print(try await cache.diskStorageSize)
}

/// `cache.cachePath(forKey:)`
func row19() async throws {
    // says: expression is 'async' but is not marked with 'await'
    // says: call can throw but is not marked with 'try'
    let path = cache.cachePath(forKey: key)
    print(path as Any, try await cache.cachePath(forKey: key) as Any)
}

/// `cache.hash(forKey:)`
func row20() { print(cache.hash(forKey: key)) }

/// `cache.memoryStorage.config`, `cache.diskStorage.config`
func row21() {
    cache.memoryStorage.config.cleanInterval = 30
    cache.memoryStorage.config.cleanInterval = .seconds(30)
    cache.memoryStorage.config.expiration = .seconds(600)
    cache.diskStorage.config.sizeLimit = 1000 * 1024 * 1024
}

/// `KingfisherDidCleanDiskCache`
func row22() {
    // says: set ImageCache.Configuration.didClean; it gets the names of the removed entries
    print(Notification.Name.KingfisherDidCleanDiskCache)
    var configuration = ImageCache.Configuration(directory: nil)
    configuration.didClean = { print($0.names) }
}

/// `downloader.downloadImage(with:options:)`, with a completion handler too
func row23() async throws {
    print(try await downloader.downloadImage(with: url, options: nil).image)
    downloader.downloadImage(with: url, options: [.onlyLoadFirstFrame]) { _ in }
    downloader.cancel(url: url)
    downloader.cancelAll()
}

/// `task?.cancel()`
func row24() {
    let task = manager.retrieveImage(with: url) { _ in }
    // says: cannot use optional chaining on non-optional value of type 'DownloadTask'
    task?.cancel()
    task.cancel()
}

/// `downloader.downloadTimeout`, `trustedHosts`
func row25() {
    // says: an option of each request: .with { $0.request.timeout = 60 }
    downloader.downloadTimeout = 5
    // says: an option of each request: .with { $0.request.trustedHosts = [host] }
    downloader.trustedHosts = ["example.com"]
    manager.defaultOptions = [
        .with { $0.request.timeout = 5 }, .with { $0.request.timeout = .seconds(5) },
        .with { $0.request.trustedHosts = ["example.com"] },
    ]
}

/// `downloader.sessionConfiguration`
func row26() {
    // says: use ImageDownloader.Configuration, and RequestOptions for each request
    print(downloader.sessionConfiguration)
}

/// `ImagePrefetcher(urls:)`, `(resources:)`, `(sources:)`, `start()`, `stop()`
func row27() {
    let prefetcher = ImagePrefetcher(urls: [url], options: nil) { skipped, failed, completed in print(completed) }
    prefetcher.start()
    prefetcher.stop()
    ImagePrefetcher(resources: [url]).start()
    ImagePrefetcher(sources: [.network(url)]).start()
}

/// `Source.network(url)`, `url.cacheKey`, `ImageResource(downloadURL:cacheKey:)`
func row28() {
    let resource = ImageResource(downloadURL: url, cacheKey: key)
    print(Source.network(url), Source.network(resource), url.cacheKey, resource.cacheKey, url.convertToSource())
}

/// `RawImageDataProvider(data:cacheKey:)`, `Base64ImageDataProvider(base64String:cacheKey:)`
func row29() {
    let raw = RawImageDataProvider(data: bytes, cacheKey: key)
    let text = Base64ImageDataProvider(base64String: "aGk=", cacheKey: key)
    print(raw.convertToSource(), Source.provider(text))
}

/// `LocalFileImageDataProvider(fileURL:)`
func row30() throws {
    // says: call can throw but is not marked with 'try'
    print(LocalFileImageDataProvider(fileURL: url))
    print(try LocalFileImageDataProvider(fileURL: url))
}

/// `KF.url(url)`, `KFImage(url)`, `imageView.kf.setImage(with: url)`
func row31(_ image: Image) {
    // says: there are no views here: await KingfisherManager.retrieveImage(with: url)
    _ = KF.url(url)
    // says: 'KFImage' is unavailable: there are no views here
    _ = KFImage(url)
    // says: 'setImage(with:placeholder:options:progressBlock:completionHandler:)' is unavailable: there are no views here
    image.kf.setImage(with: url)
    // says: 'ImageResource' has been renamed to 'ImageResource'
    _ = KF.ImageResource(downloadURL: url)
}

/// `image.kf.blurred(withRadius:)`
func row32(_ image: Image) throws {
    // says: use BlurImageProcessor(blurRadius:).process(.image(image), options: .init())
    print(image.kf.blurred(withRadius: 4))
    print(try BlurImageProcessor(blurRadius: 4).process(.image(image), options: .init()))
}

/// `image.kf.pngRepresentation()`
func row33(_ image: Image) throws {
    // says: use ImageEncoder.encode(image, as: .png)
    print(image.kf.pngRepresentation() as Any)
    print(try ImageEncoder.encode(image, as: .png))
}

/// `KFCrossPlatformImage`, `KingfisherParsedOptionsInfo`, `ContentMode`, `Radius`, `Border`
func row34() {
    // says: 'KFCrossPlatformImage' has been renamed to 'Image'
    // says: 'KingfisherParsedOptionsInfo' has been renamed to 'KingfisherOptions'
    // says: 'ContentMode' has been renamed to 'ResizingImageProcessor.Mode'
    _ = (KFCrossPlatformImage.self, KingfisherParsedOptionsInfo.self, ContentMode.self)
    // says: 'Radius' has been renamed to 'CornerRadius'
    // says: 'Border' has been renamed to 'BorderImageProcessor.Border'
    _ = (Radius.self, Border.self)
}

/// `[.forceRefresh, .waitForCache, …]`
func row35() -> KingfisherOptionsInfo {
    [
        .forceRefresh, .waitForCache, .fromMemoryCacheOrRefresh, .onlyFromCache, .cacheMemoryOnly, .cacheOriginalImage,
        .onlyLoadFirstFrame, .alsoPrefetchToMemory, .scaleFactor(2), .downloadPriority(0.8), .targetCache(cache),
        .originalCache(cache), .downloader(downloader), .alternativeSources([.network(url)]),
    ]
}

/// `defaultOptions`
func row36() { manager.defaultOptions = [.forceRefresh] }

/// `.requestModifier(AnyModifier { … })`
func row37() -> KingfisherOptionsInfoItem {
    .requestModifier(
        AnyModifier { request in
            var request = request
            request.setValue("abc", forHTTPHeaderField: "Access-Token")
            request.addValue("de", forHTTPHeaderField: "Accept-Language")
            request.headers["X-Name"] = request.value(forHTTPHeaderField: "Access-Token")
            print(request.allHTTPHeaderFields ?? [:])
            return request
        })
}

/// `AsyncImageDownloadRequestModifier`
// says: 'AsyncImageDownloadRequestModifier' has been renamed to 'ImageDownloadRequestModifier'
func row38(_ modifier: any AsyncImageDownloadRequestModifier) {}

/// `.redirectHandler(AnyRedirectHandler { task, response, request, handler in … })`
func row39() -> [KingfisherOptionsInfoItem] {
    // says: the closure is { status, url, newRequest in … } and returns the request, or nil to refuse the redirect
    let old = AnyRedirectHandler { task, response, request, handler in handler(request) }
    return [.redirectHandler(old), .redirectHandler(AnyRedirectHandler { status, url, request in request })]
}

/// `request.timeoutInterval`
func row40(_ request: ImageDownloadRequest) -> KingfisherOptionsInfoItem {
    // says: an option of the call: .with { $0.request.timeout = 60 }
    print(request.timeoutInterval)
    return .with { $0.request.timeout = 60 }
}

/// `.retryStrategy(DelayRetryStrategy(maxRetryCount: 5, retryInterval: .seconds(3)))`
func row41() -> [KingfisherOptionsInfoItem] {
    [
        .retryStrategy(DelayRetryStrategy(maxRetryCount: 5, retryInterval: .seconds(3))),
        .retryStrategy(DelayRetryStrategy(maxRetryCount: 5, retryInterval: .accumulated(3))),
        .retryStrategy(DelayRetryStrategy(maxRetryCount: 5, retryInterval: .custom { Double($0) })),
    ]
}

/// a `RetryStrategy` of one's own
// says: does not conform to protocol 'RetryStrategy'
struct Row42: RetryStrategy {
    // says: protocol requires function 'decide'
    func retry(context: RetryContext, retryHandler: @escaping @Sendable (RetryDecision) -> Void) {
        // says: use .retry(after: delay); RetryContext.userInfo.value keeps a value between decisions
        retryHandler(.retry(userInfo: nil))
    }
}

/// an `ImageDataProvider` of one's own
// says: does not conform to protocol 'ImageDataProvider'
struct Row43: ImageDataProvider {
    // says: protocol requires property 'name'
    let cacheKey = "own"
    func data(handler: @escaping @Sendable (Result<Data, any Error>) -> Void) { handler(.success(Data())) }
}

/// `AuthenticationChallengeResponsible`
// says: does not conform to protocol 'AuthenticationChallengeResponsible'
final class Row44: AuthenticationChallengeResponsible {
    // says: protocol requires function 'answer(to:)'
    func downloader(_ downloader: ImageDownloader, didReceive challenge: DownloadChallenge) async {}
}

/// `.imageModifier(AnyImageModifier { … })`, `.cacheSerializer(FormatIndicatedCacheSerializer.png)`
func row45() -> [KingfisherOptionsInfoItem] {
    [.imageModifier(AnyImageModifier { $0 }), .cacheSerializer(FormatIndicatedCacheSerializer.png)]
}

/// `.callbackQueue(.mainAsync)`
func row46() -> [KingfisherOptionsInfoItem] { [.callbackQueue(.mainAsync), .callbackQueue(.dispatch(.main))] }

/// `.memoryCacheExpiration(.seconds(300))`, `.diskCacheExpiration(.never)`
func row47() -> [KingfisherOptionsInfoItem] {
    [.memoryCacheExpiration(.seconds(300)), .diskCacheExpiration(.never), .diskCacheExpiration(.date(Date()))]
}

/// `.onFailureImage(image)`
func row48(_ image: Image) -> KingfisherOptionsInfoItem { .onFailureImage(image) }

/// `.transition`, `.forceTransition`, `.keepCurrentImageWhileLoading`
func row49() -> [KingfisherOptionsInfoItem] {
    // says: 'transition' is unavailable: there are no views here
    let first = [KingfisherOptionsInfoItem.transition(.fade(0.2))]
    // says: 'forceTransition' is unavailable: there are no views here
    // says: 'keepCurrentImageWhileLoading' is unavailable: there are no views here
    return first + [.forceTransition, .keepCurrentImageWhileLoading]
}

/// `.backgroundDecode`, `.processingQueue`, `.loadDiskFileSynchronously`, `.asyncCacheTypeCheck`
func row50() -> [KingfisherOptionsInfoItem] {
    // says: images are always decoded on threads of the library
    // says: images are always processed on threads of the library, one per core
    // says: files are always read on threads of the library
    // says: the cache is always looked up on threads of the library
    [.backgroundDecode, .processingQueue(.mainAsync), .loadDiskFileSynchronously, .asyncCacheTypeCheck]
}

/// `.lowDataMode`, `.preloadAllAnimationData`, `.diskStoreWriteOptions`, `.forcedCacheFileExtension`
func row51() -> [KingfisherOptionsInfoItem] {
    // says: a server has no low data mode
    // says: all frames of an animation are decoded
    // says: set ImageCache.Configuration.synchronizes
    // says: the extension of a cached file follows from its content
    [.lowDataMode(nil), .preloadAllAnimationData, .diskStoreWriteOptions([]), .forcedCacheFileExtension("jpg")]
}

/// `.progressiveJPEG(ImageProgressive)`
func row52() -> [KingfisherOptionsInfoItem] {
    // says: 'progressiveJPEG' is unavailable: the option is a closure here: .progressiveJPEG { image in … }
    // says: 'ImageProgressive' is unavailable: the option is a closure here: .progressiveJPEG { image in … }
    [.progressiveJPEG(ImageProgressive.default), .progressiveJPEG { print($0.width) }]
}

/// `DownsamplingImageProcessor(size:)`, `CroppingImageProcessor(size:anchor:)`
func row53() -> [any ImageProcessor] {
    let size = CGSize(width: 100, height: 100)
    return [
        DownsamplingImageProcessor(size: size), CroppingImageProcessor(size: size),
        CroppingImageProcessor(size: size, anchor: CGPoint(x: 0.5, y: 0.5)),
    ]
}

/// `ResizingImageProcessor(referenceSize:mode: .aspectFit)`
func row54() -> [any ImageProcessor] {
    let size = CGSize(width: 100, height: 100)
    return [
        ResizingImageProcessor(referenceSize: size), ResizingImageProcessor(referenceSize: size, mode: .aspectFit),
        ResizingImageProcessor(referenceSize: size, mode: .aspectFill),
    ]
}

/// `RoundCornerImageProcessor(cornerRadius: 20)`, `(cornerRadius:targetSize:)`, `(radius: .widthFraction(0.5))`
func row55() -> [any ImageProcessor] {
    let size = CGSize(width: 100, height: 100)
    return [
        RoundCornerImageProcessor(cornerRadius: 20), RoundCornerImageProcessor(radius: .widthFraction(0.5)),
        RoundCornerImageProcessor(cornerRadius: 20, targetSize: size, roundingCorners: [.topLeft, .topRight]),
        RoundCornerImageProcessor(radius: .heightFraction(0.5), targetSize: size, backgroundColor: .white),
    ]
}

/// `BlurImageProcessor(blurRadius:)`, `OverlayImageProcessor(overlay:fraction:)`, `TintImageProcessor(tint:)`
func row56() -> [any ImageProcessor] {
    [
        BlurImageProcessor(blurRadius: 4), OverlayImageProcessor(overlay: .red), TintImageProcessor(tint: .blue),
        OverlayImageProcessor(overlay: .green, fraction: 0.7),
    ]
}

/// `ColorControlsProcessor(brightness:contrast:saturation:inputEV:)`, `BlackWhiteProcessor()`
func row57() -> [any ImageProcessor] {
    [ColorControlsProcessor(brightness: 1, contrast: 0.7, saturation: 1.1, inputEV: 0.7), BlackWhiteProcessor()]
}

/// `BlendImageProcessor(blendMode:alpha:backgroundColor:)`
func row58() -> any ImageProcessor {
    BlendImageProcessor(blendMode: .colorDodge, alpha: 0.5, backgroundColor: .lightGray)
}

/// `CompositingImageProcessor(…)`
func row59() -> any ImageProcessor {
    // says: 'CompositingImageProcessor' has been renamed to 'BlendImageProcessor'
    CompositingImageProcessor(blendMode: .darken)
}

/// `BorderImageProcessor(border: Border(…))`
func row60() -> [any ImageProcessor] {
    // says: 'Border' has been renamed to 'BorderImageProcessor.Border'
    [BorderImageProcessor(border: Border(lineWidth: 2)), BorderImageProcessor(border: .init(lineWidth: 2))]
}

/// `one \|> other`, `one.append(another: other)`
func row61(_ one: any ImageProcessor, _ other: any ImageProcessor) -> [any ImageProcessor] {
    [one |> other, one.append(another: other)]
}

/// an ``ImageProcessor`` of one's own
// says: does not conform to protocol 'ImageProcessor'
struct Row62: ImageProcessor {
    // says: protocol requires function 'process(_:options:)'
    let identifier = "com.example.own"
    func process(item: ImageProcessItem, options: KingfisherOptions) -> Image? { nil }
}
