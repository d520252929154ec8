import KFCore

/// What `fetch` and `prefetch` make of their processing, caching and network options.
struct RetrievalSettings: Sendable {
    let options: KingfisherOptions
    /// What is made of each source: the options themselves, or one for each `--variant`.
    let variants: [Variant]
    let jobs: Int
    let maxPerHost: Int
    let run: RunSettings
    let sizeLimit: Int64?
    private let lowerLayers: [String]
    private let verifies: Bool
    private let synchronizes: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var options = KingfisherOptions()
        options.processor = try Self.processor(arguments)
        options.cacheSerializer = try Self.serializer(arguments)
        options.cacheOriginalImage = true
        options.waitForCache = true
        // A process of a command line asks for nothing twice.
        options.memoryCacheExpiration = .expired
        options.onlyLoadFirstFrame = arguments.flag("first-frame")
        if let pixels = try arguments.integer("max-pixels", in: 1...Int.max) { options.decodeLimits.maxPixels = pixels }
        options.decodeLimits.scaleDownBytes = try arguments.size("scale-down").map(Int.init)
        options.forceRefresh = arguments.flag("force-refresh")
        options.onlyFromCache = arguments.flag("only-from-cache")
        if let expiration = try arguments.expiration("expire") { options.diskCacheExpiration = expiration }
        if let policy = arguments.value("cache-policy").flatMap(CachePolicy.init) { options.cachePolicy = policy }
        options.staleIfError = try arguments.duration("stale-if-error")
        if let scale = try arguments.number("scale", above: 0, to: 100) { options.scaleFactor = scale }
        let network = try NetworkSettings(arguments)
        options.request = network.request
        options.retryStrategy = network.retry
        options.alternativeSources = network.alternatives
        self.options = options
        variants = try Variant.all(arguments, options)
        jobs = try arguments.integer("jobs", in: 1...1024) ?? 64
        run = try RunSettings(arguments, quiet: arguments.flag("quiet"))
        maxPerHost = min(jobs, run.maxPerHost ?? ImageDownloader.Configuration().maxConnectionsPerHost)
        sizeLimit = try arguments.size("max-size")
        lowerLayers = arguments.values("cache-from")
        verifies = arguments.flag("verify")
        synchronizes = arguments.flag("fsync")
    }

    private func cache(_ common: CommonSettings) -> ImageCache {
        common.cache(sizeLimit: sizeLimit, access: .create) {
            $0.lowerLayers = lowerLayers
            $0.verifies = verifies
            $0.synchronizes = synchronizes
        }
    }

    func manager(_ common: CommonSettings) -> KingfisherManager {
        var downloader = ImageDownloader.Configuration()
        downloader.maxConnections = jobs
        downloader.maxConnectionsPerHost = maxPerHost
        downloader.ratePerHost = run.rate
        return KingfisherManager(
            cache: cache(common), downloader: ImageDownloader(downloader))
    }

    private static func processor(_ arguments: ParsedArguments) throws(UsageError) -> any ImageProcessor {
        let specs = arguments.values("process")
        guard !specs.isEmpty else { return DefaultImageProcessor() }
        guard specs.allSatisfy({ !$0.isEmpty }) else {
            throw UsageError(message: "--process needs a processor, such as resize:320x240")
        }
        do {
            return try ProcessorParser.parse(specs.joined(separator: "|>"))
        } catch {
            throw UsageError(message: error.message)
        }
    }

    private static func serializer(_ arguments: ParsedArguments) throws(UsageError) -> any CacheSerializer {
        var encoding = EncodeOptions()
        if let quality = try arguments.integer("quality", in: 1...100) { encoding.quality = quality }
        if let color = try arguments.opaqueColor("background") { encoding.background = color }
        encoding.convertsToSRGB = arguments.flag("srgb")
        encoding.keepsMetadata = arguments.flag("keep-metadata")
        guard let name = arguments.value("format"), let format = ImageFormat(rawValue: name) else {
            return DefaultCacheSerializer(options: encoding)
        }
        return FormatIndicatedCacheSerializer(format: format, options: encoding)
    }
}
