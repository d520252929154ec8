import KFImaging
import KFStorage
import KFTerms

/// The options of one retrieval: Kingfisher's options without those for a user interface.
public struct KingfisherOptions: Sendable {
    /// The processor of the image. Its identifier is part of the cache key.
    public var processor: any ImageProcessor = DefaultImageProcessor()
    /// The serializer that encodes a processed image for the cache. Its identifier is part of the cache key unless it
    /// is the default.
    public var cacheSerializer: any CacheSerializer = DefaultCacheSerializer()
    /// Whether to fetch again even if the image is cached. Overrides ``onlyFromCache``.
    public var forceRefresh = false
    /// The hash that the bytes of the origin must have. A cached original with it is served whatever its freshness says;
    /// other bytes are `unexpectedContent` (2011), of which nothing is stored.
    public var expectedHash: ContentHash?
    /// Whether to use the cache only. A miss then fails with `imageNotExisting` (3006).
    public var onlyFromCache = false
    /// Whether to use the cache alone, without any request. An expired image is served as ``RetrievalWay/stale``,
    /// however old it is and whatever its server said. A miss fails with `imageNotExisting` (3006). Overrides
    /// ``forceRefresh``, ``revalidate`` and ``fromMemoryCacheOrRefresh``.
    public var offline = false
    /// Whether to use the memory cache, and to fetch on a miss there. The disk cache is not read.
    public var fromMemoryCacheOrRefresh = false
    /// The cache of the image; nil uses the manager's cache.
    public var targetCache: ImageCache?
    /// The cache of the original; nil uses the cache of the image.
    public var originalCache: ImageCache?
    /// The downloader; nil uses the manager's.
    public var downloader: ImageDownloader?
    /// Whether to deliver the image only after it has been stored, with the outcome in ``RetrieveImageResult/storing``.
    /// Otherwise it is delivered as soon as it is available.
    public var waitForCache = false
    /// Whether a prefetcher also loads images from the disk cache into memory.
    public var alsoPrefetchToMemory = false
    /// Called with a progressive JPEG after each of its scans, during the transfer. The call has a transfer of its own.
    public var progressiveJPEG: (@Sendable (Image) -> Void)?
    /// The queue of callbacks. The default is not the main queue, because a server process usually does not drain it.
    public var callbackQueue = CallbackQueue.untouch
    /// A modifier of the delivered image. Cached images are not changed.
    public var imageModifier: (any ImageModifier)?
    /// Whether to write nothing to the disk cache.
    public var cacheMemoryOnly = false
    /// Whether to store the original as well when a processor is set.
    public var cacheOriginalImage = false
    /// Whether to store the result of the processor. Without a processor, the image is always stored.
    public var cacheProcessedImage = true
    /// The time to live in the disk cache; `expired` stores nothing on disk. Nil uses the cache's own time (7 days).
    public var diskCacheExpiration: StorageExpiration?
    /// The effect of later reads on the expiry in the disk cache. The entry records it.
    public var diskCacheAccessExtendingExpiration: ExpirationExtending = .cacheTime
    /// The policy that determines how long an image is fresh. Under ``CachePolicy/http``, the two options above apply
    /// only to images that no server sent.
    public var cachePolicy = CachePolicy.timeToLive
    /// Whether to revalidate every cached image with its origin before it is served, even a fresh one. The request is
    /// conditional if the entry has an ETag or a Last-Modified date. Ignored with ``onlyFromCache``, and for images of
    /// a provider.
    public var revalidate = false
    /// The time after expiry during which an image is served at once, as ``RetrievalWay/stale``, and revalidated in the
    /// background. Nil means what the server allows under ``CachePolicy/http``, and zero under
    /// ``CachePolicy/timeToLive``.
    public var staleWhileRevalidate: Duration?
    /// The longest time after expiry at which an image is still served when the origin is unavailable; nil never serves
    /// it.
    public var staleIfError: Duration?
    /// How long a 404 or 410 is remembered; nil or zero (default) remembers none. Until then, retrievals with this
    /// option fail without a request, with ``KingfisherError/ResponseErrorReason/rememberedHTTPStatusCode(_:secondsLeft:)``.
    /// Under ``CachePolicy/http`` it applies to responses whose headers do not say how long they are fresh.
    public var negativeTimeToLive: Duration?
    /// Whether to ask again although a response without an image is remembered.
    public var retryFailed = false
    /// The time to live in memory. Nil uses the memory cache's own time (300 s); `expired` keeps nothing in memory.
    public var memoryCacheExpiration: StorageExpiration?
    /// The effect of this call's read on the expiry in memory.
    public var memoryCacheAccessExtendingExpiration: ExpirationExtending = .cacheTime
    /// The strategy that decides on retries after a failure; nil never retries.
    public var retryStrategy: (any RetryStrategy)?
    /// The sources that are tried in order when the source fails.
    public var alternativeSources: [Source] = []
    /// The image that `retrieveImage` delivers, uncached, if all sources fail; ``RetrieveImageResult/failure`` then has the
    /// error. A cancelled call still throws.
    public var onFailureImage: Image?
    /// The options of the request to the origin.
    public var request = RequestOptions()
    /// Called with the number of bytes received, on the network thread.
    public var progress: ProgressHandler?
    /// The limits for decoding untrusted bytes: pixels, frames, memory and time.
    public var decodeLimits = DecodeLimits()
    /// The check of bytes that arrive from the source. Bytes that fail it are refused with `damagedImage` (2008), and
    /// nothing of them is stored. A cached image is not checked again.
    public var check = ImageCheck.structure
    /// The images that are accepted, cached ones too; nil accepts all. Others are `filtered` (2012), and no alternative is
    /// tried.
    public var filter: ImageFilter?
    /// The terms on which a response forbids the use of its image; nil ignores such headers. Responses and redirects that do
    /// are `optedOut` (2013): their bodies are not received, nothing is stored, and no alternative is tried. An image that is
    /// cached is served.
    public var optOut: OptOut?
    /// Whether to use only the first frame of an animation. Part of the cache key.
    public var onlyLoadFirstFrame = false
    /// The number of pixels per point of the processors' sizes. Part of the cache key unless it is 1.
    public var scaleFactor = 1.0
    /// Whether the commit of a store may wait some milliseconds for others. Meant for many images at once.
    public var batchesStores = false
    /// Whether the results of such stores have their files open, so that an eviction cannot take the bytes from an export.
    package var opensBatchedFiles = false

    /// Whether a lock gets the hashes of originals, so that results have them, of bytes that were hashed here.
    package var notesOriginal = false
    /// The number of the processor's last steps, before which the processor of a list's record runs.
    package var lateSteps = 0
    /// What has come of the sources of the run; nil for a call by itself.
    package var answers: RunAnswers?
    /// The counts of the run that the images belong to; nil for a call of its own.
    package var tally: RunTally?
    /// The error of every image with these options, because an overlay of its processor cannot be had; nil usually.
    package var overlayProblem: KingfisherError?
    /// Whether the unprocessed image is wanted for others alone, which are made of it. ``cacheOriginalImage`` then decides
    /// whether it is stored.
    var isForParts = false
    /// Whether to serve a stale image at once where stale-while-revalidate allows that. Otherwise the origin is asked
    /// first.
    package var servesWhileRevalidating = true

    /// Creates the defaults.
    public init() {}

    /// The part of the cache key beside the source's key: decoding, processor and serializer.
    public var identifier: String {
        let (processing, encoding) = (processor.identifier, cacheSerializer.identifier)
        // This is the usual case. It allocates nothing, so that a hit in memory stays cheap.
        if encoding.isEmpty, !onlyLoadFirstFrame, decodeLimits.scaleDownBytes == nil, scaleFactor == 1 {
            return processing
        }
        return (decoding + [processing, encoding]).filter { !$0.isEmpty }.joined(separator: "|>")
    }

    /// The options of ``offline`` with everything that it implies and overrides.
    fileprivate var withoutRequests: KingfisherOptions {
        var options = self
        options.onlyFromCache = true
        options.forceRefresh = false
        options.revalidate = false
        options.fromMemoryCacheOrRefresh = false
        return options
    }

    /// The first steps of the identifier: the options of the decoder.
    var decoding: [String] {
        [
            onlyLoadFirstFrame ? "first-frame" : nil, decodeLimits.scaleDownBytes.map { "scale-down:\($0)" },
            scaleFactor == 1 ? nil : "scale:\(scaleFactor)",
        ].compactMap { $0 }
    }

    var inspector: ImageInspector {
        ImageInspector(limits: decodeLimits, check: check, filter: filter, optOut: optOut)
    }

    var processing: ProcessingOptions {
        var decode = DecodeOptions()
        decode.limits = decodeLimits
        decode.firstFrameOnly = onlyLoadFirstFrame
        return ProcessingOptions(decode: decode, scaleFactor: scaleFactor)
    }
}

extension KingfisherOptions {
    /// Returns the options with a progress handler that is called on ``callbackQueue``.
    func reporting(to handler: ProgressHandler?) -> KingfisherOptions {
        guard let handler else { return self }
        var options = self
        options.progress = { [queue = callbackQueue] received, total in queue.execute { handler(received, total) } }
        return options
    }
}

/// Immutable options and the values derived from them. One box is made per call or run, and all of its images share it.
package final class OptionsBox: Sendable {
    package let value: KingfisherOptions
    /// The part of the cache key beside the source's key.
    package let identifier: String
    /// Whether the key of a source without credentials is the source's own: then an image of a list costs 800 instructions
    /// less.
    let keepsKeys: Bool
    let download: DownloadTerms
    /// The terms for mirrors; nil without any.
    let mirrored: DownloadTerms?
    package let result: ResultTerms

    package init(_ given: KingfisherOptions) {
        let options = given.offline ? given.withoutRequests : given
        value = options
        identifier = options.identifier
        keepsKeys = options.request.keepsKeys
        download = DownloadTerms(
            options.request, options.inspector, acceptsEverySuccess: options.cachePolicy == .http)
        mirrored =
            options.request.mirrors.isEmpty
            ? nil
            : DownloadTerms(
                options.request.forMirrors, options.inspector, acceptsEverySuccess: options.cachePolicy == .http)
        result = ResultTerms(options.processing, options.cacheSerializer, options.imageModifier)
    }

    var inspector: ImageInspector { download.inspector }

    package func with(_ change: (inout KingfisherOptions) -> Void) -> OptionsBox {
        var options = value
        change(&options)
        return OptionsBox(options)
    }
}
