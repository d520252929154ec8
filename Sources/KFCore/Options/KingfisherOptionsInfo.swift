import KFImaging
import KFStorage

/// Options as a list of what differs from the defaults; of two that say the same thing the last one wins.
public typealias KingfisherOptionsInfo = [KingfisherOptionsInfoItem]

/// One option. Each says what the property of the same name in `KingfisherOptions` or `RequestOptions` says.
public enum KingfisherOptionsInfoItem: Sendable {
    case targetCache(ImageCache)
    case originalCache(ImageCache)
    case downloader(ImageDownloader)
    case cacheOriginalImage
    case cacheMemoryOnly
    case waitForCache
    case forceRefresh
    case fromMemoryCacheOrRefresh
    case onlyFromCache
    case alsoPrefetchToMemory
    case processor(any ImageProcessor)
    case cacheSerializer(any CacheSerializer)
    case imageModifier(@Sendable (Image) -> Image)
    case scaleFactor(Double)
    case onlyLoadFirstFrame
    case memoryCacheExpiration(StorageExpiration)
    case memoryCacheAccessExtendingExpiration(ExpirationExtending)
    case diskCacheExpiration(StorageExpiration)
    case diskCacheAccessExtendingExpiration(ExpirationExtending)
    case cachePolicy(CachePolicy)
    case staleIfError(Duration)
    case retryStrategy(any RetryStrategy)
    case alternativeSources([Source])
    case downloadPriority(Float)
    case requestModifier(any ImageDownloadRequestModifier)
    case redirectHandler(any ImageDownloadRedirectHandler)
    case request(RequestOptions)
    case progress(ProgressHandler)
    case onDataReceived(@Sendable (UnsafeRawBufferPointer) -> Void)
    case progressiveJPEG(@Sendable (Image) -> Void)
    case callbackQueue(CallbackQueue)
}

extension KingfisherOptions {
    public init(_ items: KingfisherOptionsInfo) {
        self.init()
        for item in items { apply(item) }
    }

    public mutating func apply(_ item: KingfisherOptionsInfoItem) {
        switch item {
        case .targetCache(let cache): targetCache = cache
        case .originalCache(let cache): originalCache = cache
        case .downloader(let downloader): self.downloader = downloader
        case .cacheOriginalImage: cacheOriginalImage = true
        case .cacheMemoryOnly: cacheMemoryOnly = true
        case .waitForCache: waitForCache = true
        case .forceRefresh: forceRefresh = true
        case .fromMemoryCacheOrRefresh: fromMemoryCacheOrRefresh = true
        case .onlyFromCache: onlyFromCache = true
        case .alsoPrefetchToMemory: alsoPrefetchToMemory = true
        case .processor(let processor): self.processor = processor
        case .cacheSerializer(let serializer): cacheSerializer = serializer
        case .imageModifier(let modifier): imageModifier = modifier
        case .scaleFactor(let factor): scaleFactor = factor
        case .onlyLoadFirstFrame: onlyLoadFirstFrame = true
        case .memoryCacheExpiration(let expiration): memoryCacheExpiration = expiration
        case .memoryCacheAccessExtendingExpiration(let extending): memoryCacheAccessExtendingExpiration = extending
        case .diskCacheExpiration(let expiration): diskCacheExpiration = expiration
        case .diskCacheAccessExtendingExpiration(let extending): diskCacheAccessExtendingExpiration = extending
        case .cachePolicy(let policy): cachePolicy = policy
        case .staleIfError(let span): staleIfError = span
        case .retryStrategy(let strategy): retryStrategy = strategy
        case .alternativeSources(let sources): alternativeSources = sources
        case .downloadPriority(let priority): request.priority = priority
        case .requestModifier(let modifier): request.modifier = modifier
        case .redirectHandler(let handler): request.redirectHandler = handler
        case .request(let request): self.request = request
        case .progress(let handler): progress = handler
        case .onDataReceived(let handler): request.onDataReceived = handler
        case .progressiveJPEG(let handler): progressiveJPEG = handler
        case .callbackQueue(let queue): callbackQueue = queue
        }
    }
}
