import KFImaging
import KFStorage

/// How one image is retrieved. Kingfisher's options, as far as they mean something without a screen.
public struct KingfisherOptions: Sendable {
    /// What is done to the image; part of the cache key.
    public var processor: any ImageProcessor = DefaultImageProcessor()
    /// How a processed image becomes bytes; part of the cache key when it is not the default.
    public var cacheSerializer: any CacheSerializer = DefaultCacheSerializer()
    /// Ignores what is cached. Beats `onlyFromCache`.
    public var forceRefresh = false
    /// Never asks the network; a miss is `imageNotExisting` (3006).
    public var onlyFromCache = false
    /// Accepts what is in memory, else downloads.
    public var fromMemoryCacheOrRefresh = false
    /// Where the image is looked for and kept; nil is the manager's cache.
    public var targetCache: ImageCache?
    /// The same for its original; nil is the target's.
    public var originalCache: ImageCache?
    /// Nil is the manager's.
    public var downloader: ImageDownloader?
    /// The image is given out when it has been stored, and says how that went; else as soon as it is there.
    public var waitForCache = false
    /// A prefetcher loads what it finds on the disk into memory.
    public var alsoPrefetchToMemory = false
    /// Is shown a progressive JPEG after each of its scans, while it comes.
    public var progressiveJPEG: (@Sendable (Image) -> Void)?
    /// Where callbacks are called. Not on the main queue unless that is said: a server has nobody who empties it.
    public var callbackQueue = CallbackQueue.untouch
    /// Changes the image that is given out, and nothing that is cached.
    public var imageModifier: (any ImageModifier)?
    /// Nothing is written to the disk.
    public var cacheMemoryOnly = false
    /// With a processor: the bytes as they came are stored too.
    public var cacheOriginalImage = false
    /// With a processor: what it makes is stored. Without one, nothing is processed and the image is stored.
    public var cacheProcessedImage = true
    /// How long the image counts as fresh on the disk; `expired` keeps nothing there. Nil is the cache's own time (7 days).
    public var diskCacheExpiration: StorageExpiration?
    /// Written into the entry: what each later read does to its expiry.
    public var diskCacheAccessExtendingExpiration: ExpirationExtending = .cacheTime
    /// What decides how long an image counts as fresh; under `http` the two options above are for what no server sent.
    public var cachePolicy = CachePolicy.timeToLive
    /// Revalidates every cached image with its origin before it is used, even a fresh one. The request is conditional if the
    /// entry has an ETag or a Last-Modified date. Ignored with `onlyFromCache`, and for images of a provider.
    public var revalidate = false
    /// The time after expiry during which an image is served at once, as ``RetrievalWay/stale``, and revalidated in the
    /// background. Nil is what the server allows under ``CachePolicy/http``, and zero under ``CachePolicy/timeToLive``.
    public var staleWhileRevalidate: Duration?
    /// Past its time, and so long past it at most, an image serves when its origin cannot be asked; nil is not at all.
    public var staleIfError: Duration?
    /// Nil is the memory cache's own (300 s); `expired` keeps nothing in memory.
    public var memoryCacheExpiration: StorageExpiration?
    /// What a read of this call does to the expiry in memory.
    public var memoryCacheAccessExtendingExpiration: ExpirationExtending = .cacheTime
    /// Asked when the source has failed; nil tries once.
    public var retryStrategy: (any RetryStrategy)?
    /// Tried in order when the source fails.
    public var alternativeSources: [Source] = []
    /// How the origin is asked.
    public var request = RequestOptions()
    /// Told how much of a body has come, on the network's thread.
    public var progress: ProgressHandler?
    /// Of an image whose bytes are not trusted: pixels, frames, memory, time.
    public var decodeLimits = DecodeLimits()
    /// How the bytes are checked when they come from the source. Bytes that do not pass are refused with `damagedImage`
    /// (2008), and nothing of them is stored. A cached image is not checked again.
    public var check = ImageCheck.structure
    /// Makes a still image of an animation; part of the cache key.
    public var onlyLoadFirstFrame = false
    /// Image pixels per point of the processors' sizes.
    public var scaleFactor = 1.0
    /// The commit of a store may wait some milliseconds for others. For many images at once.
    public var batchesStores = false

    /// What may be used while its origin is asked again is used at once; else the origin is asked first.
    var servesWhileRevalidating = true
    /// Was looked for a moment ago, and is looked for once more before its origin is asked.
    var isKnownMissing = false

    /// The defaults.
    public init() {}

    /// What the cache key carries beside the source's key: how it is decoded, processed and encoded.
    public var identifier: String {
        let (processing, encoding) = (processor.identifier, cacheSerializer.identifier)
        // Nearly always; a hit in memory allocates nothing for it.
        if encoding.isEmpty, !onlyLoadFirstFrame, decodeLimits.scaleDownBytes == nil, scaleFactor == 1 {
            return processing
        }
        return (decoding + [processing, encoding]).filter { !$0.isEmpty }.joined(separator: "|>")
    }

    /// What is asked of the decoder: the first steps of the identifier.
    var decoding: [String] {
        [
            onlyLoadFirstFrame ? "first-frame" : nil, decodeLimits.scaleDownBytes.map { "scale-down:\($0)" },
            scaleFactor == 1 ? nil : "scale:\(scaleFactor)",
        ].compactMap { $0 }
    }

    var inspector: ImageInspector { ImageInspector(limits: decodeLimits, check: check) }

    var processing: ProcessingOptions {
        var decode = DecodeOptions()
        decode.limits = decodeLimits
        decode.firstFrameOnly = onlyLoadFirstFrame
        return ProcessingOptions(decode: decode, scaleFactor: scaleFactor)
    }
}

extension KingfisherOptions {
    /// The options with a handler that is told of progress where callbacks are called.
    func reporting(to handler: ProgressHandler?) -> KingfisherOptions {
        guard let handler else { return self }
        var options = self
        options.progress = { [queue = callbackQueue] received, total in queue.execute { handler(received, total) } }
        return options
    }
}

/// Options that do not change any more, and what follows from them: made once for a call or a run, and shared by all of
/// its images.
final class OptionsBox: Sendable {
    let value: KingfisherOptions
    /// What the cache key carries beside the source's key.
    let identifier: String
    let download: DownloadTerms
    let result: ResultTerms

    init(_ options: KingfisherOptions) {
        value = options
        identifier = options.identifier
        download = DownloadTerms(
            options.request, options.inspector, acceptsEverySuccess: options.cachePolicy == .http)
        result = ResultTerms(options.processing, options.cacheSerializer, options.imageModifier)
    }

    var inspector: ImageInspector { download.inspector }

    func with(_ change: (inout KingfisherOptions) -> Void) -> OptionsBox {
        var options = value
        change(&options)
        return OptionsBox(options)
    }
}
