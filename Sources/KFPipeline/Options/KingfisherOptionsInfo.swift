import KFImaging
import KFStorage
import KFTerms

/// A list of the options that differ from the defaults. Of two items for the same option, the last one wins.
public typealias KingfisherOptionsInfo = [KingfisherOptionsInfoItem]

/// One option. Each item sets the property of the same name in ``KingfisherOptions`` or ``RequestOptions``.
public enum KingfisherOptionsInfoItem: Sendable {
    /// Sets ``KingfisherOptions/targetCache``.
    case targetCache(ImageCache)
    /// Sets ``KingfisherOptions/originalCache``.
    case originalCache(ImageCache)
    /// Sets ``KingfisherOptions/downloader``.
    case downloader(ImageDownloader)
    /// Sets ``KingfisherOptions/cacheOriginalImage``.
    case cacheOriginalImage
    /// Sets ``KingfisherOptions/cacheMemoryOnly``.
    case cacheMemoryOnly
    /// Sets ``KingfisherOptions/waitForCache``.
    case waitForCache
    /// Sets ``KingfisherOptions/forceRefresh``.
    case forceRefresh
    /// Sets ``KingfisherOptions/fromMemoryCacheOrRefresh``.
    case fromMemoryCacheOrRefresh
    /// Sets ``KingfisherOptions/onlyFromCache``.
    case onlyFromCache
    /// Sets ``KingfisherOptions/offline``.
    case offline
    /// Sets ``KingfisherOptions/alsoPrefetchToMemory``.
    case alsoPrefetchToMemory
    /// Sets ``KingfisherOptions/processor``.
    case processor(any ImageProcessor)
    /// Sets ``KingfisherOptions/cacheSerializer``.
    case cacheSerializer(any CacheSerializer)
    /// Sets ``KingfisherOptions/imageModifier``.
    case imageModifier(any ImageModifier)
    /// Sets ``KingfisherOptions/scaleFactor``.
    case scaleFactor(Double)
    /// Sets ``KingfisherOptions/check``.
    case check(ImageCheck)
    /// Sets ``KingfisherOptions/onlyLoadFirstFrame``.
    case onlyLoadFirstFrame
    /// Sets ``KingfisherOptions/memoryCacheExpiration``.
    case memoryCacheExpiration(StorageExpiration)
    /// Sets ``KingfisherOptions/memoryCacheAccessExtendingExpiration``.
    case memoryCacheAccessExtendingExpiration(ExpirationExtending)
    /// Sets ``KingfisherOptions/diskCacheExpiration``.
    case diskCacheExpiration(StorageExpiration)
    /// Sets ``KingfisherOptions/diskCacheAccessExtendingExpiration``.
    case diskCacheAccessExtendingExpiration(ExpirationExtending)
    /// Sets ``KingfisherOptions/cachePolicy``.
    case cachePolicy(CachePolicy)
    /// Sets ``KingfisherOptions/revalidate``.
    case revalidate
    /// Sets ``KingfisherOptions/staleWhileRevalidate``.
    case staleWhileRevalidate(Duration)
    /// Sets ``KingfisherOptions/staleIfError``.
    case staleIfError(Duration)
    /// Sets ``KingfisherOptions/negativeTimeToLive``.
    case negativeTimeToLive(Duration)
    /// Sets ``KingfisherOptions/retryFailed``.
    case retryFailed
    /// Sets ``KingfisherOptions/retryStrategy``.
    case retryStrategy(any RetryStrategy)
    /// Sets ``KingfisherOptions/alternativeSources``.
    case alternativeSources([Source])
    /// Sets ``KingfisherOptions/onFailureImage``.
    case onFailureImage(Image?)
    /// Sets ``RequestOptions/priority``.
    case downloadPriority(Float)
    /// Sets ``RequestOptions/modifier``.
    case requestModifier(any ImageDownloadRequestModifier)
    /// Sets ``RequestOptions/redirectHandler``.
    case redirectHandler(any ImageDownloadRedirectHandler)
    /// Sets all of ``KingfisherOptions/request``, including parts that earlier items have set. ``with(_:)`` sets one
    /// part.
    case request(RequestOptions)
    /// Sets ``KingfisherOptions/progress``.
    case progress(ProgressHandler)
    /// Sets ``RequestOptions/onDataReceived``.
    case onDataReceived(@Sendable (UnsafeRawBufferPointer) -> Void)
    /// Sets ``KingfisherOptions/progressiveJPEG``.
    case progressiveJPEG(@Sendable (Image) -> Void)
    /// Sets ``KingfisherOptions/callbackQueue``.
    case callbackQueue(CallbackQueue)
    /// Sets any option that has no item of its own, such as `.with { $0.request.timeout = .seconds(5) }`.
    case with(@Sendable (inout KingfisherOptions) -> Void)
}

extension KingfisherOptions {
    /// Creates the defaults and applies the items in order.
    public init(_ items: KingfisherOptionsInfo) {
        self.init()
        for item in items { apply(item) }
    }

    /// Applies one item.
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
        case .offline: offline = true
        case .alsoPrefetchToMemory: alsoPrefetchToMemory = true
        case .processor(let processor): self.processor = processor
        case .cacheSerializer(let serializer): cacheSerializer = serializer
        case .imageModifier(let modifier): imageModifier = modifier
        case .scaleFactor(let factor): scaleFactor = factor
        case .check(let check): self.check = check
        case .onlyLoadFirstFrame: onlyLoadFirstFrame = true
        case .memoryCacheExpiration(let expiration): memoryCacheExpiration = expiration
        case .memoryCacheAccessExtendingExpiration(let extending): memoryCacheAccessExtendingExpiration = extending
        case .diskCacheExpiration(let expiration): diskCacheExpiration = expiration
        case .diskCacheAccessExtendingExpiration(let extending): diskCacheAccessExtendingExpiration = extending
        case .cachePolicy(let policy): cachePolicy = policy
        case .revalidate: revalidate = true
        case .staleWhileRevalidate(let span): staleWhileRevalidate = span
        case .staleIfError(let span): staleIfError = span
        case .negativeTimeToLive(let span): negativeTimeToLive = span
        case .retryFailed: retryFailed = true
        case .retryStrategy(let strategy): retryStrategy = strategy
        case .alternativeSources(let sources): alternativeSources = sources
        case .onFailureImage(let image): onFailureImage = image
        case .downloadPriority(let priority): request.priority = priority
        case .requestModifier(let modifier): request.modifier = modifier
        case .redirectHandler(let handler): request.redirectHandler = handler
        case .request(let request): self.request = request
        case .progress(let handler): progress = handler
        case .onDataReceived(let handler): request.onDataReceived = handler
        case .progressiveJPEG(let handler): progressiveJPEG = handler
        case .callbackQueue(let queue): callbackQueue = queue
        case .with(let change): change(&self)
        }
    }
}
