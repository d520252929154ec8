import Dispatch
import KFCore

/// The settings that `fetch` and `prefetch` make of their processing, caching and network options.
struct RetrievalSettings: Sendable {
    let options: KingfisherOptions
    /// The images made of each source: one with the options themselves, or one for each `--variant` or width.
    var variants: [Variant]
    let jobs: Int
    let maxPerHost: Int
    /// Requests per second to one host.
    let rates: HostRates
    /// Bytes per second over all hosts.
    private let limitRate: Int64?
    /// The bytes per second that each transfer has at least.
    private static let leastRate: Int64 = 16 << 10
    private let deadline: Duration?
    private let start = ContinuousClock.now
    let grace: Duration?
    let progress: ProgressBar.Style
    /// Whether progress is shown from the first moment, also that of one image.
    let isProgressForced: Bool
    let sizeLimit: Int64?
    /// The reason why a result may be in no cache afterwards, as the beginning of a sentence.
    let notStored: String?
    /// The cache key of the one source, in place of the source's own key.
    let key: String?
    /// The lock that the images must match.
    let lock: LockedRun?
    /// The image to write in place of one that failed.
    let onFailure: String?
    private let allowsFailures: Bool
    let isReadOnly: Bool
    /// The bits of the hash in which duplicates may differ; nil if they are equal, or kept. The rows have the hash then.
    let duplicateDistance: Int?
    /// The kind of placeholder that each image gets beside it.
    let placeholder: ImagePlaceholder?
    /// The figures of each image that are reported.
    let measures: [ImageMeasure]
    let copiesUndecoded: Bool
    let lowerLayers: [String]
    private let remotes: RemoteSettings
    private let verifies: Bool
    private let synchronizes: Bool

    /// `fillsCache`: whether the run fills the cache from lists. `pulls`: whether the images come from remotes alone, expired
    /// ones too.
    init(_ arguments: ParsedArguments, fillsCache: Bool = false, pulls: Bool = false) throws(UsageError) {
        var options = KingfisherOptions()
        let store = try arguments[Options.store]
        options.cacheOriginalImage = store != .processed
        options.cacheProcessedImage = store != .original
        options.cacheMemoryOnly = store == .none
        options.waitForCache = true
        // The command asks for each image once, so that a memory cache beside the disk cache would never have a hit. An
        // image that is repeated and not stored is served from it.
        options.memoryCacheExpiration = store == .none ? nil : .expired
        options.onlyLoadFirstFrame = try arguments[Options.firstFrame]
        options.decodeLimits.toleratesDamage = try arguments[Options.lenient]
        if let formats = try arguments[Options.decoders] { ImageCodecs.decode(only: formats) }
        if let pixels = try arguments[Options.maxPixels] { options.decodeLimits.maxPixels = pixels }
        if let bytes = try arguments[Options.maxMemory] {
            options.decodeLimits.maxMemory = bytes == 0 ? .max : Int(bytes)
        }
        if let time = try arguments[Options.maxProcessTime] {
            options.decodeLimits.timeLimit = time == .zero ? .seconds(Int64.max) : time
        }
        options.decodeLimits.scaleDownBytes = try arguments[Options.scaleDown].flatMap { $0 == 0 ? nil : Int($0) }
        options.forceRefresh = try arguments[Options.forceRefresh]
        options.onlyFromCache = try arguments[Options.onlyFromCache] || pulls
        options.offline = try arguments[Options.offline]
        if let expiration = try arguments[Options.expire] { options.diskCacheExpiration = expiration }
        // Freshness runs from when the origin confirmed an image, or a nightly run would keep a changed one for ever.
        options.diskCacheAccessExtendingExpiration = try arguments[Options.extend] ?? .none
        options.memoryCacheAccessExtendingExpiration = options.diskCacheAccessExtendingExpiration
        if let policy = try arguments[Options.cachePolicy] { options.cachePolicy = policy }
        if let check = try Self.check(arguments) { options.check = check }
        options.revalidate = try arguments[Options.revalidate]
        options.staleWhileRevalidate = try arguments[Options.staleWhileRevalidate]
        // A list's images and overlays are revalidated as part of its run.
        options.servesWhileRevalidating = !fillsCache
        options.staleIfError = pulls ? .seconds(1 << 40) : try arguments[Options.staleIfError]
        options.negativeTimeToLive = try arguments[fillsCache ? Options.negativeTTLOfLists : Options.negativeTTL]
        options.retryFailed = try arguments[Options.retryFailed]
        try options.takeNetwork(arguments)
        try options.takeFilter(arguments)
        options.expectedHash = try arguments[Options.hash]
        lock = try Self.lock(arguments, options.request, pulls: pulls)
        if lock?.mode == .updating { options.revalidate = true }
        options.notesOriginal = lock != nil
        self.options = options
        variants = try Variant.all(arguments, options)
        notStored = try Self.notStored(arguments, variants)
        key = try arguments[Options.key]
        // Slower transfers would look like stalled ones.
        let most = try arguments[Options.limitRate].map { max(1, Int(clamping: $0 / Self.leastRate)) } ?? .max
        jobs = min(most, try arguments[Options.jobs])
        rates = try arguments[Options.rate]
        limitRate = try arguments[Options.limitRate]
        deadline = try arguments[Options.deadline].flatMap { $0 == .zero ? nil : $0 }
        grace = try arguments[Options.grace]
        let choice = try arguments[Options.progress]
        let interval = arguments.environment["KF_PROGRESS_INTERVAL"].flatMap(ValueText.milliseconds) ?? 30_000
        progress = ProgressBar.Style(
            choice, quiet: try arguments[Options.quiet], interval: .milliseconds(max(100, interval)))
        isProgressForced = choice == .always
        maxPerHost = min(
            jobs, try arguments[Options.maxPerHost] ?? ImageDownloader.Configuration().maxConnectionsPerHost)
        sizeLimit = try arguments[Options.maxSize]
        lowerLayers = try arguments[Options.cacheFrom]
        remotes = try RemoteSettings(arguments, options.request.transfer, pulls: pulls)
        verifies = try arguments[Options.verify]
        synchronizes = try arguments[Options.fsync]
        isReadOnly = try arguments[Options.readOnly]
        placeholder = try arguments[Options.placeholder]
        duplicateDistance = try arguments[Options.dropDuplicates]
        measures = try Self.measures(arguments)
        copiesUndecoded = try arguments[Options.undecoded]
        onFailure = try arguments[Options.onFailure]
        allowsFailures = try arguments[Options.allowFailures]
    }

    /// The members that the summaries of both commands end with.
    static let summary: [JSONField<(cache: ImageCache, lock: LockedRun?)>] = [
        JSONField("changed", "Whether the cache holds an image, or the freshness of one, that it did not hold before.")
        {
            $0.cache.hasChanged
        },
        JSONField(
            "evicted", "The number of images that the run used and that left the cache again: --max-size is too small."
        ) {
            $0.cache.evictedAgain?.removal.entries ?? 0
        },
        JSONField.ifPresent(
            "lock",
            "With --lock: the numbers of images that are new, changed, as_locked and dropped, and not_locked if an "
                + "alternative delivered some; with --update-lock also replaced, each url with its old and new hash."
        ) { $0.lock.map { JSONObject(part: $0, lockFields) } },
        JSONField(
            "remote",
            "With --remote: the numbers of images that came from it and that it did not have (hits, misses), of requests "
                + "that failed (errors), of images that were uploaded and that were not (uploaded, dropped), and of uploads "
                + "that were repeated because the remote was busy or the blob locked (retried); else null."
        ) { $0.cache.remoteCounts.map { JSONObject(part: $0, RemoteCounts.fields + [RemoteCounts.retries]) } },
    ]

    /// Refuses an image in place of those that fail where no file is written.
    func checkOnFailure(_ destination: Destination) throws(UsageError) {
        switch destination {
        case .cache, .shards:
            guard onFailure == nil else { throw UsageError(message: "--on-failure needs -o or --output-dir") }
        case .standardOutput, .file, .directory: break
        }
    }

    /// The image in place of those that fail, in each form; none without `--on-failure`. Nil after a message if it cannot
    /// be had; a signal that came before ends the run with what it has. Blocks.
    private func standIns(
        _ manager: KingfisherManager, _ interrupts: Interrupts, _ common: CommonSettings
    ) -> [RetrieveImageResult]? {
        guard let onFailure else { return [] }
        let variants = variants
        let images = Blocking.wait { () -> Result<[RetrieveImageResult], KingfisherError> in
            var images: [RetrieveImageResult] = []
            do throws(KingfisherError) {
                let source = try SourceArgument.source(onFailure)
                for var options in variants.map(\.options) {
                    // The hash and the filter are about the images that this one stands in for.
                    (options.filter, options.expectedHash, options.notesOriginal) = (nil, nil, false)
                    options.request = options.request.outsideScope
                    options.readLocal(source)
                    // Without its overlay, a variant has the stand-in without a watermark.
                    options.processor = options.processor.droppingUnreadWatermarks
                    options.overlayProblem = nil
                    images.append(try await manager.retrieveImage(with: source, options: options))
                }
                return .success(images)
            } catch {
                return .failure(error)
            }
        }
        switch images {
        case .success(let images): return images
        // Nothing is tried after the signal or the deadline, so that no image is replaced.
        case .failure where interrupts.status != nil || timeLeft == .zero: return []
        case .failure(let error):
            common.report(error, for: "--on-failure")
            return nil
        }
    }

    /// The time until the run's deadline; nil without one.
    private var timeLeft: Duration? { deadline.map { max(.zero, $0 - start.duration(to: .now)) } }

    /// Retrieves the overlays and stand-ins, which precede the images of a run; its deadline bounds them, too. Nil after a
    /// message if a stand-in cannot be had: the manager is shut down then. Blocks.
    func prepared(
        _ manager: KingfisherManager, _ interrupts: Interrupts, _ common: CommonSettings
    ) -> (settings: RetrievalSettings, standIns: [RetrieveImageResult])? {
        let end = DispatchWorkItem { Interrupts.endPreparing(manager) }
        if let timeLeft {
            DispatchQueue.global().asyncAfter(deadline: .now() + timeLeft / .seconds(1), execute: end)
        }
        defer { end.cancel() }
        let settings = withOverlays(manager)
        if let standIns = settings.standIns(manager, interrupts, common) { return (settings, standIns) }
        _ = settings.close(manager, nil, nil, common, isCut: true)
        return nil
    }

    /// The settings that the prefetchers of both commands share.
    var prefetching: ImagePrefetcher.Configuration {
        var configuration = ImagePrefetcher.Configuration()
        configuration.maxConcurrentDownloads = jobs
        configuration.maxPerHost = maxPerHost
        configuration.lock = lock
        configuration.deadline = timeLeft
        configuration.grace = grace
        return configuration
    }

    /// Ends the work of a run: writes its tags, revalidates what it has served stale, unless it was cut off, and waits for
    /// its uploads, which may take long, are shown, and end with a signal.
    func close(
        _ manager: KingfisherManager, _ bar: ProgressBar?, _ tags: TagWriter?, _ common: CommonSettings, isCut: Bool
    ) -> ExitStatus {
        let status = tags?.flush(to: manager.cache, common) ?? .success
        if manager.isRevalidating {
            let limit = isCut ? .zero : options.request.timeout
            Blocking.wait { await manager.finishRevalidating(within: limit) }
        }
        bar?.update { $0.isOver = true }
        manager.shutdownNow()
        bar?.end()
        return status
    }

    /// With `--allow-failures`, failed images are no failure of the run.
    func forgive(_ status: inout ExitStatus) { if allowsFailures, status == .someFailed { status = .success } }

    /// The wait for another process's lock on the cache after a signal or the deadline.
    static let patienceAfterSignal = Duration.seconds(1)

    /// The longest time from a signal to the end of the run. A full pipe may block the output without limit.
    var patience: DispatchTimeInterval? {
        grace.map { .seconds(Int(min(max(0, $0.components.seconds), 1 << 31)) + Self.secondsToWrite) }
    }

    private static let secondsToWrite = 5

    static let deadlineMessage = "kf: stopped early: the deadline has passed"
    static let closedMessage = "kf: stopped early: the reader of standard output has closed it"

    /// What an exporter needs to know about the variants.
    var forms: [ImageExporter.Form] { variants.map { ImageExporter.Form(variant: $0.name, format: $0.format) } }

    /// The option that keeps results from being stored; nil when none does.
    private static func notStored(
        _ arguments: ParsedArguments, _ variants: [Variant]
    ) throws(UsageError) -> String? {
        let options = variants.map(\.options)
        if try arguments[Options.store] == .none { return "with --store none nothing is stored" }
        if options.contains(where: { $0.diskCacheExpiration?.isExpired(at: .now()) ?? false }),
            let end = arguments.text(of: Options.expire)
        {
            return "with --expire \(end) nothing is stored"
        }
        if options.contains(where: { !$0.cacheProcessedImage && !$0.identifier.isEmpty }) {
            return "with --store original no processed image is stored"
        }
        return nil
    }

    /// Returns the value of `--check`, which only a dry run has without one.
    static func check(_ arguments: ParsedArguments) throws(UsageError) -> ImageCheck? {
        if arguments.isBare(Options.check), try !arguments[Options.prefetchDryRun] {
            throw UsageError(
                message: "--check needs a value: --check structure or --check full; alone it belongs to "
                    + "'kf prefetch --dry-run'")
        }
        return try arguments[Options.check]
    }

    /// Refuses `--key` with several sources, since each needs a key of its own.
    func checkKey(_ sources: [String]) throws(UsageError) {
        if key != nil, sources.count > 1 {
            throw UsageError(message: "--key works with one source, not with \(sources.count)")
        }
    }

    private func cache(_ common: CommonSettings) -> ImageCache {
        common.cache(sizeLimit: sizeLimit, access: isReadOnly ? .readOnly : options.offline ? .existing : .create) {
            $0.lowerLayers = lowerLayers
            remotes.apply(&$0)
            $0.verifies = verifies
            $0.synchronizes = synchronizes
            // The time limits of a transfer also bound the wait for another process's lock: `--timeout` while that process
            // shows no progress, `--max-time` in total. At the deadline, all waits end.
            let bounds = [options.request.timeout, options.request.maxTime].compactMap { $0 }
            $0.lockTimeout = min($0.lockTimeout, bounds.min() ?? $0.lockTimeout)
            $0.longestLockWait = options.request.maxTime
            $0.lockDeadline = deadline.map { start + $0 }
        }
    }

    /// Warns of images that did not fit, completes the list of dropped uploads, and reports the failure of a required remote
    /// that no image has reported: `ending` is that of a run.
    func conclude(
        _ cache: ImageCache, _ common: CommonSettings, after ending: PrefetchReport.Ending = .finished
    ) -> ExitStatus {
        common.warnOfEvicted(cache)
        let listed = remotes.finish()
        guard let problem = cache.remoteProblem else { return listed }
        if case .failed = ending { return .cacheFailed }
        common.report(problem, for: nil)
        return .cacheFailed
    }

    /// The cache for a command that changes nothing.
    func cacheToRead(_ common: CommonSettings) -> ImageCache {
        common.cache(sizeLimit: nil, access: .readOnly) {
            $0.lowerLayers = lowerLayers
            $0.remotes = remotes.layers
            $0.verifies = verifies
        }
    }

    func manager(_ common: CommonSettings, _ waits: WaitReport) -> KingfisherManager {
        var downloader = ImageDownloader.Configuration()
        downloader.maxConnections = jobs
        downloader.maxConnectionsPerHost = maxPerHost
        downloader.ratePerHost = rates.all
        downloader.ratesByHost = rates.hosts
        downloader.bytesPerSecond = limitRate
        downloader.failuresToOpenCircuit = 10
        downloader.onHostRest = { waits.tell($0, $1, isAwaited: $2) }
        let manager = KingfisherManager(cache: cache(common), downloader: ImageDownloader(downloader))
        Session.current.keep(manager)
        return manager
    }
}

extension CommonSettings {
    /// Warns of images of this run that left the cache again, because its limit is too small.
    func warnOfEvicted(_ cache: ImageCache) {
        guard let (evicted, left, limit) = cache.evictedAgain else { return }
        let needed = ByteText.bytes(left.adding(saturating: evicted.bytes))
        warn(
            "\(EntryText.count(evicted.entries, "image")) of this run did not fit and left the cache again: the run needs "
                + "\(needed), and --max-size is \(ByteText.limit(limit)); raise it, or do less at a time")
    }
}
