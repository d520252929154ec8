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

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var options = KingfisherOptions()
        options.processor = try Self.processor(arguments)
        options.cacheSerializer = try Self.serializer(arguments)
        options.cacheOriginalImage = true
        options.onlyLoadFirstFrame = arguments.flag("first-frame")
        if let pixels = try arguments.integer("max-pixels", in: 1...Int.max) { options.decodeLimits.maxPixels = pixels }
        options.decodeLimits.scaleDownBytes = try arguments.size("scale-down").map(Int.init)
        options.forceRefresh = arguments.flag("force-refresh")
        options.onlyFromCache = arguments.flag("only-from-cache")
        if options.forceRefresh, options.onlyFromCache {
            throw UsageError(message: "--force-refresh and --only-from-cache exclude each other")
        }
        if let expiration = try arguments.expiration("expire") { options.diskCacheExpiration = expiration }
        if let timeout = try arguments.duration("timeout") {
            options.request.timeout = timeout == .zero ? nil : timeout
        }
        options.retryStrategy = DelayRetryStrategy(
            maxRetryCount: try arguments.integer("retry", in: 0...100) ?? 2, interval: .exponential(1))
        self.options = options
        variants = try Variant.all(arguments, options)
        jobs = try arguments.integer("jobs", in: 1...1024) ?? 64
        run = try RunSettings(arguments, quiet: arguments.flag("quiet"))
        maxPerHost = min(jobs, run.maxPerHost ?? ImageDownloader.Configuration().maxConnectionsPerHost)
        sizeLimit = try arguments.size("max-size")
    }

    func manager(_ common: CommonSettings) -> KingfisherManager {
        var downloader = ImageDownloader.Configuration()
        downloader.maxConnections = jobs
        downloader.maxConnectionsPerHost = maxPerHost
        downloader.ratePerHost = run.rate
        return KingfisherManager(
            cache: common.cache(sizeLimit: sizeLimit, access: .create), downloader: ImageDownloader(downloader))
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
        if let text = arguments.value("background") {
            guard let colour = Color(text), colour.alpha == 255 else {
                throw UsageError(message: "--background takes a colour such as #fff or #336699, not '\(text)'")
            }
            encoding.background = colour
        }
        encoding.convertsToSRGB = arguments.flag("srgb")
        encoding.keepsMetadata = arguments.flag("keep-metadata")
        let name = arguments.value("format")?.lowercased() ?? "keep"
        if name == "keep" { return DefaultCacheSerializer(options: encoding) }
        let writable = ImageFormat.allCases.filter(\.isEncodable)
        guard let format = writable.first(where: { $0.rawValue == name || $0.fileExtension == name }) else {
            let names = writable.map(\.rawValue).joined(separator: ", ")
            throw UsageError(message: "--format takes keep, \(names), not '\(name)'")
        }
        return FormatIndicatedCacheSerializer(format: format, options: encoding)
    }
}
