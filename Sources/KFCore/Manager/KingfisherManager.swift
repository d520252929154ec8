import KFImaging
import KFStorage
import Synchronization

/// Retrieves images: from memory, from the disk, else from their source. Kingfisher's `KingfisherManager`.
public final class KingfisherManager: ImageStages, Sendable {
    /// Used where the options name no other.
    public let cache: ImageCache
    /// Used where the options name no other.
    public let downloader: ImageDownloader
    let background = BackgroundWork()
    /// What is asked again while what expired of it has been given out.
    let revalidating = Mutex<Set<EntryKey>>([])
    private let defaults = Mutex(KingfisherOptionsInfo())

    /// Makes a manager; several may share a cache, or a downloader.
    public init(cache: ImageCache, downloader: ImageDownloader = ImageDownloader()) {
        self.cache = cache
        self.downloader = downloader
    }

    /// Options that stand before those of each call; what a call says itself wins. Only a call that gives
    /// ``KingfisherOptions`` has said all of them itself: ``options(_:)`` makes such with the defaults in them.
    public var defaultOptions: KingfisherOptionsInfo {
        get { defaults.withLock { $0 } }
        set { defaults.withLock { $0 = newValue } }
    }

    /// All options of a call with this list: the defaults, `defaultOptions`, then the list.
    public func options(_ items: KingfisherOptionsInfo = []) -> KingfisherOptions {
        KingfisherOptions(defaultOptions + items)
    }

    /// Ends what is still being stored, writes what reading left to write, and ends the network's thread. To be called
    /// before the process exits.
    public func shutdown() async {
        await background.finish()
        downloader.shutdown()
        await cache.close()
    }

    /// As `shutdown()`, on the calling thread, for who has waited for every store (`waitForCache`).
    package func shutdownNow() {
        downloader.shutdown()
        cache.closeNow()
    }

    /// The image of a source if it is cached just as it is wanted; nil when it would have to be made or fetched, or when a
    /// modifier without an identity has to run. Runs on the calling thread, and blocks on the disk: a program that only
    /// wants what is there starts no other thread.
    package func retrieveCachedImage(
        with source: Source, options: KingfisherOptions
    ) throws(KingfisherError) -> RetrieveImageResult? {
        guard options.request.isPrepared else { return nil }
        return try cachedImage(Retrieval(source, OptionsBox(identified(options)), cache))
    }

    func cachedImage(_ retrieval: Retrieval) throws(KingfisherError) -> RetrieveImageResult? {
        let (options, source) = (retrieval.options, retrieval.source)
        guard !options.forceRefresh, !retrieval.asksOrigin else { return nil }
        let outcome = RetrievalOutcome(retrieval, asked: source)
        if let image = retrieval.inMemory { return outcome.result(.memory, image) }
        guard !options.fromMemoryCacheOrRefresh else { return nil }
        if let file = try openFile(of: retrieval) { return outcome.result(.disk, file) }
        let chosen = try Self.selected(retrieval)
        guard chosen.target != retrieval.target, let file = try openFile(of: chosen) else { return nil }
        return RetrievalOutcome(chosen, asked: source).result(.disk, file)
    }

    private func openFile(of retrieval: Retrieval) throws(KingfisherError) -> CachedFile? {
        try retrieval.cache.openFile(
            retrieval.target, strict: retrieval.options.onlyFromCache, where: retrieval.accepts)
    }

    /// The image of a source, in the way that costs least. When the source fails, its alternatives are tried in order;
    /// when all fail, the error is `alternativeSourcesExhausted` (5004). An alternative on another origin gets neither the
    /// credentials nor the headers of the options, except for headers that hold no secret. `defaultOptions` are not looked
    /// at.
    public func retrieveImage(
        with source: Source, options: KingfisherOptions
    ) async throws(KingfisherError) -> RetrieveImageResult {
        if let image = imageInMemory(source, options) { return image }
        return try await retrieveImage(with: source, options: options, counting: AttemptCount())
    }

    /// The same with a list of options, which the manager's `defaultOptions` stand before. `progressBlock` is called where
    /// the options' ``KingfisherOptions/callbackQueue`` says.
    public func retrieveImage(
        with source: Source, options: KingfisherOptionsInfo = [], progressBlock: ProgressHandler? = nil
    ) async throws(KingfisherError) -> RetrieveImageResult {
        try await retrieveImage(with: source, options: self.options(options).reporting(to: progressBlock))
    }

    /// The same for a URL or a resource.
    public func retrieveImage(
        with resource: some SourceConvertible, options: KingfisherOptionsInfo = [],
        progressBlock: ProgressHandler? = nil
    ) async throws(KingfisherError) -> RetrieveImageResult {
        try await retrieveImage(with: resource.convertToSource(), options: options, progressBlock: progressBlock)
    }

    /// The same; the requests that it takes are counted, those of a failure too.
    package func retrieveImage(
        with source: Source, options: KingfisherOptions, counting attempts: AttemptCount
    ) async throws(KingfisherError) -> RetrieveImageResult {
        try await retrieveImage(with: source, options: options, counting: attempts, isRepairable: true)
    }

    /// `isRepairable`: a cached image that turns out to be damaged is retrieved again.
    func retrieveImage(
        with source: Source, options: KingfisherOptions, counting attempts: AttemptCount, isRepairable: Bool
    ) async throws(KingfisherError) -> RetrieveImageResult {
        let waiting = WaitingForImage()
        let box = OptionsBox(identified(options))
        let job = ImageJob(self, Retrieval(source, box, cache), for: waiting)
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                waiting.begin(continuation)
                start(job, with: source, options.request)
            }
        } onCancel: {
            job.cancel()
        }
        attempts.add(job.attempts)
        var image = try result.get()
        if isRepairable, image.way != .fetched, image.way != .derived { image.repair = (self, box) }
        return image
    }

    // MARK: Stages

    /// The first stage of one source of a job. A modifier without an identity runs ahead of it.
    func start(_ job: ImageJob, with source: Source, _ request: RequestOptions) {
        if job.isEarly, job.background == nil { job.background = background.begin() }
        guard case .network(let resource) = source, !request.isPrepared else {
            if job.alternatives > 0 { place(job, source, request) }
            return start([job])
        }
        Task { [self] in
            do throws(KingfisherError) {
                place(job, source, try await request.prepared(for: resource.downloadURL))
                start([job])
            } catch {
                var deliveries = Deliveries()
                fail(job, error, &deliveries)
                deliveries.flush()
            }
        }
    }

    private func place(_ job: ImageJob, _ source: Source, _ request: RequestOptions) {
        var options = job.options.value
        options.request = request
        job.retrieval = Retrieval(source, OptionsBox(identified(options)), cache)
        (job.hasLooked, job.retried, job.stale, job.derivation) = (false, 0, nil, nil)
    }

    /// The first stage: what is in memory is there, what is known to be missing is fetched, the rest is looked for.
    func start(_ jobs: [ImageJob]) {
        var deliveries = Deliveries()
        var missing: [ImageJob] = []
        var unknown: [ImageJob] = []
        for job in jobs where !job.isCancelled {
            let retrieval = job.retrieval
            if job.hasLooked || retrieval.options.forceRefresh && !retrieval.selects {
                missing.append(job)
            } else if !retrieval.options.forceRefresh, job.variants.isEmpty, let image = retrieval.inMemory {
                deliveries.add(
                    job, .success(RetrievalOutcome(retrieval, asked: job.asked).result(.memory, image)))
            } else {
                unknown.append(job)
            }
        }
        fetch(missing)
        lookUp(unknown)
        deliveries.flush()
    }
}

/// A call that waits for one image.
private final class WaitingForImage: ImageRecipient {
    typealias Outcome = Result<RetrieveImageResult, KingfisherError>

    private struct State {
        var continuation: UnsafeContinuation<Outcome, Never>?
        /// A cancellation may come before anybody waits.
        var outcome: Outcome?
    }

    private let state = Mutex(State())

    func begin(_ continuation: UnsafeContinuation<Outcome, Never>) {
        let outcome = state.withLock { state in
            if state.outcome == nil { state.continuation = continuation }
            return state.outcome
        }
        if let outcome { continuation.resume(returning: outcome) }
    }

    func take(_ ended: [EndedImage]) {
        guard let outcome = ended.first?.result else { return }
        let continuation = state.withLock { state in
            if state.continuation == nil { state.outcome = outcome }
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: outcome)
    }
}

extension KingfisherManager {
    /// The options with everything in them that decides about cache keys: the modifier runs here unless it names an
    /// identity, or has run before.
    func prepared(
        _ options: KingfisherOptions, for source: Source
    ) async throws(KingfisherError) -> KingfisherOptions {
        guard case .network(let resource) = source else { return options }
        var options = identified(options)
        if !options.request.isPrepared {
            options.request = try await options.request.prepared(for: resource.downloadURL)
        }
        return options
    }

    /// The options with the identity of the downloader's challenge responder.
    func identified(_ options: KingfisherOptions) -> KingfisherOptions {
        let responder = (options.downloader ?? downloader).authenticationChallengeResponder
        guard let identity = responder?.cacheIdentity, !identity.isEmpty else { return options }
        var options = options
        options.request.responderIdentity = identity
        return options
    }
}
