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
    /// Why a result may be in no cache afterwards, as the beginning of a sentence.
    let notStored: String?
    /// What the cache keeps the source's image under, in place of the source's own key.
    let key: String?
    private let isReadOnly: Bool
    private let lowerLayers: [String]
    private let verifies: Bool
    private let synchronizes: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var options = KingfisherOptions()
        options.processor = try Self.processor(arguments)
        options.cacheSerializer = try Self.serializer(arguments)
        let store = arguments.value("store") ?? "both"
        options.cacheOriginalImage = store == "both" || store == "original"
        options.cacheProcessedImage = store == "both" || store == "processed"
        options.cacheMemoryOnly = store == "none" || arguments.flag("memory-only")
        options.waitForCache = true
        // A process of a command line asks for nothing twice, or has a disk.
        options.memoryCacheExpiration = arguments.flag("memory-only") ? nil : .expired
        options.onlyLoadFirstFrame = arguments.flag("first-frame")
        if let pixels = try arguments.integer("max-pixels", in: 1...Int.max) { options.decodeLimits.maxPixels = pixels }
        if let bytes = try arguments.size("max-memory") {
            options.decodeLimits.maxMemory = bytes == 0 ? .max : Int(bytes)
        }
        options.decodeLimits.scaleDownBytes = try arguments.size("scale-down").flatMap { $0 == 0 ? nil : Int($0) }
        options.forceRefresh = arguments.flag("force-refresh")
        options.onlyFromCache = arguments.flag("only-from-cache")
        if let expiration = try arguments.expiration("expire") { options.diskCacheExpiration = expiration }
        if let extending = try arguments.extending("extend") {
            options.diskCacheAccessExtendingExpiration = extending
        }
        if let policy = arguments.value("cache-policy").flatMap(CachePolicy.init) { options.cachePolicy = policy }
        if let check = arguments.value("check").flatMap(ImageCheck.init) { options.check = check }
        options.revalidate = arguments.flag("revalidate")
        options.staleWhileRevalidate = try arguments.duration("stale-while-revalidate")
        options.staleIfError = try arguments.duration("stale-if-error")
        if let scale = try arguments.number("scale", in: 0.01...100) { options.scaleFactor = scale }
        let network = try NetworkSettings(arguments)
        options.request = network.request
        options.request.ignoresQuery = arguments.flag("ignore-query")
        options.request.ignoredParameters = arguments.values("key-ignore")
        if options.request.ignoredParameters.contains("") {
            throw UsageError(message: "--key-ignore needs the name of a parameter, such as 'X-Amz-*'")
        }
        options.retryStrategy = network.retry
        options.alternativeSources = network.alternatives
        self.options = options
        variants = try Variant.all(arguments, options)
        notStored = Self.notStored(arguments, variants)
        if arguments.value("key") == "" { throw UsageError(message: "--key needs a key") }
        key = arguments.value("key").map(GivenKey.cacheKey)
        jobs = try arguments.integer("jobs", in: 1...1024) ?? 64
        run = try RunSettings(arguments, quiet: arguments.flag("quiet"))
        maxPerHost = min(jobs, run.maxPerHost ?? ImageDownloader.Configuration().maxConnectionsPerHost)
        sizeLimit = try arguments.size("max-size")
        lowerLayers = arguments.values("cache-from")
        verifies = arguments.flag("verify")
        synchronizes = arguments.flag("fsync")
        isReadOnly = arguments.flag("read-only")
    }

    /// Which of the options keeps results from being stored.
    private static func notStored(_ arguments: ParsedArguments, _ variants: [Variant]) -> String? {
        let options = variants.map(\.options)
        if arguments.flag("memory-only") { return "with --memory-only nothing is stored" }
        if arguments.value("store") == "none" { return "with --store none nothing is stored" }
        if options.contains(where: { $0.diskCacheExpiration?.isExpired(at: .now()) ?? false }),
            let end = arguments.value("expire")
        {
            return "with --expire \(end) nothing is stored"
        }
        if options.contains(where: { !$0.cacheProcessedImage && !$0.identifier.isEmpty }) {
            return "with --store original nothing is stored of what is made"
        }
        return nil
    }

    /// Of several sources none can have the one key.
    func checkKey(_ sources: [String]) throws(UsageError) {
        if key != nil, sources.count > 1 { throw UsageError(message: "--key is for one source, not \(sources.count)") }
    }

    private func cache(_ common: CommonSettings) -> ImageCache {
        common.cache(sizeLimit: sizeLimit, access: isReadOnly ? .readOnly : .create) {
            $0.lowerLayers = lowerLayers
            $0.verifies = verifies
            $0.synchronizes = synchronizes
            // What bounds a transfer bounds the waiting for another process as well.
            let bounds = [options.request.timeout, options.request.maxTime, run.deadline].compactMap { $0 }
            $0.lockTimeout = min($0.lockTimeout, bounds.min() ?? $0.lockTimeout)
            $0.lockDeadline = run.deadline.map { .now + $0 }
        }
    }

    /// For who only looks.
    func cacheToRead(_ common: CommonSettings) -> ImageCache {
        common.cache(sizeLimit: nil, access: .readOnly) {
            $0.lowerLayers = lowerLayers
            $0.verifies = verifies
        }
    }

    func manager(_ common: CommonSettings) -> KingfisherManager {
        var downloader = ImageDownloader.Configuration()
        downloader.maxConnections = jobs
        downloader.maxConnectionsPerHost = maxPerHost
        downloader.ratePerHost = run.rate
        downloader.failuresToOpenCircuit = 10
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
