import KFCore

/// The use of images in a server: one manager for the process, with its own cache directory.
struct Server {
    let manager: KingfisherManager
    /// The base URL of the images.
    let address: String

    init(address: String, directory: String) {
        self.address = address
        var configuration = ImageCache.Configuration(directory: directory)
        configuration.diskSizeLimit = 100 << 20
        configuration.memoryCostLimit = 16 << 20
        configuration.notice = { print("notice: \($0)") }
        var downloading = ImageDownloader.Configuration()
        downloading.maxConnectionsPerHost = 4
        manager = KingfisherManager(cache: ImageCache(configuration), downloader: ImageDownloader(downloading))
        manager.defaultOptions = [
            .retryStrategy(DelayRetryStrategy(maxRetryCount: 1, retryInterval: .seconds(0.1))),
            .callbackQueue(.untouch),
            .waitForCache,
        ]
    }

    func source(_ path: String) throws(KingfisherError) -> Source { .network(try RequestURL("\(address)/\(path)")) }

    /// Retrieves images with `async` calls.
    func asynchronously() async throws {
        let photo = try source("jpeg/landscape-444.jpg")
        let small = try ProcessorParser.parse("resize:32x32,fit")
        let options: KingfisherOptionsInfo = [.processor(small), .cacheOriginalImage]
        for way in [RetrievalWay.fetched, .memory] {
            let result = try await manager.retrieveImage(with: photo, options: options)
            let image = try await result.image()
            try check(
                result.way == way && image.width == 32, "\(result.identifier): \(result.way), \(image.width) wide")
        }
        let corner = RoundCornerImageProcessor(cornerRadius: 8)
        let derived = try await manager.retrieveImage(with: photo, options: [.processor(small |> corner)])
        try check(derived.way == .derived, "\(derived.identifier): \(derived.way), \(derived.facts.format.rawValue)")
        let bytes = try await manager.retrieveImage(with: photo, options: [.onlyFromCache]).data()
        try check(!bytes.isEmpty, "the original, as it came")
    }

    /// Retrieves an image with a completion handler and progress.
    func withCallbacks() async throws {
        let picture = try source("png/rgb.png")
        let result = await withCheckedContinuation { continuation in
            manager.retrieveImage(
                with: picture,
                progressBlock: { received, total in
                    if received == total { print("all that was to come is there") }
                },
                completionHandler: { continuation.resume(returning: $0) })
        }
        try check(result.get().facts.format == .png, "called with a \(result.get().facts.format.rawValue)")
    }

    /// Cancels a slow transfer after its first bytes.
    func cancelling() async throws {
        let slow = try source("slow/gallery.jpg")
        let (steps, begun) = AsyncStream<Void>.makeStream()
        let result = await withCheckedContinuation { continuation in
            let task = manager.retrieveImage(
                with: slow, progressBlock: { _, _ in begun.yield() },
                completionHandler: { continuation.resume(returning: $0) })
            Task {
                for await _ in steps { break }
                task.cancel()
            }
        }
        guard case .failure(let error) = result else { throw Failure(description: "the transfer was not cancelled") }
        try check(error.isCancellation, "cancelled: \(error.errorCode) \(error.reasonName)")
    }

    func withPartsOfItsOwn() async throws {
        let log = DownloadLog()
        manager.downloader.delegate = log
        let signed = try source("signed/webp/lossless.webp")
        do {
            _ = try await manager.retrieveImage(with: signed)
            throw Failure(description: "the server asked for no signature")
        } catch let error as KingfisherError {
            try check(error.httpStatus == 403, "without a signature: \(error.message) [\(error.errorCode)]")
        }
        let result = try await manager.retrieveImage(
            with: signed, options: [.requestModifier(Signature()), .processor(Negative()), .cacheOriginalImage])
        try check(result.response?.status == 200, "with one: \(result.way)")
        try check(
            log.text == "start, failed with 2002, start, status 200, finished", "the delegate: \(log.text)")
        manager.downloader.delegate = nil

        var dot = try Bitmap(width: 1, height: 1, format: .rgb)
        try dot.withUnsafeMutableRows { $0.row(0)[0] = 200 }
        let bytes = try ImageEncoder.encode(Image(dot), as: .png)
        let negative = try await manager.retrieveImage(
            with: .provider(RawImageDataProvider(data: bytes)), options: [.processor(Negative())]
        ).image()
        let red = negative.bitmap.withUnsafeRows { $0.row(0)[0] }
        try check(red == 55, "the negative of a red of 200 is \(red)")
    }

    /// Writes an image in a format that kf does not know, and retrieves that file as any other.
    func withFormatOfItsOwn() async throws {
        let codec = FarbfeldCodec()
        try ImageCodecs.register(codec)
        let image = try await manager.retrieveImage(with: source("gif/still.gif")).image()
        let bytes = try ImageEncoder.encode(image, as: codec.format)
        let file = Source.provider(RawImageDataProvider(data: bytes, cacheKey: "still"))
        let small = try ProcessorParser.parse("resize:8x")
        let result = try await manager.retrieveImage(
            with: file,
            options: [.processor(small), .cacheSerializer(FormatIndicatedCacheSerializer(format: codec.format))])
        let (width, format) = (try await result.image().width, result.facts.format)
        try check(width == 8 && format == codec.format, "\(width) wide, in \(format.displayName)")
        try await manager.cache.removeImage(forKey: "still")
        try await manager.cache.removeImage(forKey: source("gif/still.gif").cacheKey)
    }

    func prefetching() async throws {
        let paths = ["gif/still.gif", "gif/animated.gif", "png/rgb.png", "missing.png"]
        let sources = try paths.map { path throws(KingfisherError) in try source(path) }
        for expected in [(skipped: 1, completed: 2), (skipped: 3, completed: 0)] {
            let report = await ImagePrefetcher(manager: manager).prefetch(sources) { outcome, progress in
                if let error = outcome.error {
                    print("  \(outcome.item.text.dropFirst(address.count)): \(error.message)")
                }
            }
            let counts = report.progress
            try check(
                (counts.skipped, counts.completed, counts.failed) == (expected.skipped, expected.completed, 1),
                "prefetched: \(counts.completed), there already: \(counts.skipped), failed: \(counts.failed)")
        }
    }

    func lookingIntoTheCache() async throws {
        let cache = manager.cache
        let key = try source("jpeg/landscape-444.jpg").cacheKey
        let entries = try await cache.entries(forKey: key).map(\.name.identifier).sorted()
        try check(entries.count == 3, "kept of the photo: \(entries.map { $0.isEmpty ? "the original" : $0 })")
        let path = try await cache.cachePath(forKey: key)
        try check(path?.hasSuffix(".jpg") == true, "its file has the extension of what it is")
        try check(try await cache.imageCachedType(forKey: key) == .memory, "it is in memory, too")
        let removed = try await cache.removeImage(forKey: key)
        try check(removed.entries == 3, "removed with all that was made of it")
        guard let summary = try await cache.summary() else { throw Failure(description: "there is no cache") }
        try check(summary.totals.entries == 6, "the cache has \(summary.totals.entries) entries")
    }
}
