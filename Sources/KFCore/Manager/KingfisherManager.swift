import KFImaging
import KFStorage
import Synchronization

/// A manager that retrieves images from memory, from the disk cache or from their source. Kingfisher's
/// `KingfisherManager`.
public final class KingfisherManager: Sendable {
    /// The cache of calls whose options name no other.
    public let cache: ImageCache
    /// The downloader of calls whose options name no other.
    public let downloader: ImageDownloader
    let background = BackgroundWork()
    /// The keys of stale images that have been served and are being revalidated.
    let revalidating = Mutex<Set<EntryKey>>([])
    private let defaults = Mutex(KingfisherOptionsInfo())

    /// Creates a manager. Several managers may share a cache or a downloader.
    public init(cache: ImageCache, downloader: ImageDownloader = ImageDownloader()) {
        self.cache = cache
        self.downloader = downloader
    }

    /// The options that apply before those of each call, which override them. They do not apply to calls with
    /// ``KingfisherOptions``; ``options(_:)`` returns such options with the defaults included.
    public var defaultOptions: KingfisherOptionsInfo {
        get { defaults.withLock { $0 } }
        set { defaults.withLock { $0 = newValue } }
    }

    /// Returns all options of a call: the defaults, then ``defaultOptions``, then the list.
    public func options(_ items: KingfisherOptionsInfo = []) -> KingfisherOptions {
        KingfisherOptions(defaultOptions + items)
    }

    /// Waits for stores in flight, writes pending access times, and ends the network thread. Call it before the process
    /// exits.
    public func shutdown() async {
        await background.finish()
        downloader.shutdown()
        await cache.close()
    }

    /// Shuts down on the calling thread, for a caller that has waited for every store (`waitForCache`).
    package func shutdownNow() {
        downloader.shutdown()
        cache.finishNow()
    }

    /// Returns the image if it is cached exactly as requested. Returns nil if it must be made or fetched, or if a
    /// modifier without an identity must run. Runs on the calling thread and blocks on the disk, so that a hit starts
    /// no thread.
    package func retrieveCachedImage(
        with source: Source, options: KingfisherOptions
    ) throws(KingfisherError) -> RetrieveImageResult? {
        guard options.request.isPrepared else { return nil }
        return try cachedImage(Retrieval(source, OptionsBox(identified(options)), cache))
    }

    func cachedImage(_ retrieval: Retrieval) throws(KingfisherError) -> RetrieveImageResult? {
        guard !retrieval.options.forceRefresh, !retrieval.asksOrigin else { return nil }
        let found = try retrieval.look(asksRemotes: asksRemotes(retrieval))
        switch found.decision {
        case .serveFromMemory(let image): return found.retrieval.result(image)
        case .serve(let file):
            file.cache.noteHit(file, waits: true)
            return found.retrieval.result(.disk, file.file)
        case .serveStale(let file, renews: false)
        where retrieval.options.offline && file.entry.key == found.retrieval.target:
            return found.retrieval.result(.stale, file.file)
        default: return nil
        }
    }

    /// Retrieves the image of a source from the nearest place that has it.
    ///
    /// If the source fails, its alternatives are tried in order. If all fail, the error is
    /// `alternativeSourcesExhausted` (5004). An alternative on another origin gets no credentials and no headers that
    /// may be secrets. ``defaultOptions`` do not apply.
    public func retrieveImage(
        with source: Source, options: KingfisherOptions
    ) async throws(KingfisherError) -> RetrieveImageResult {
        if let image = imageInMemory(source, options) { return image }
        return try await retrieveImage(with: source, options: options, isRepairable: true)
    }

    /// Retrieves the image of a source with a list of options, which are added to the manager's ``defaultOptions``.
    /// `progressBlock` is called on the options' ``KingfisherOptions/callbackQueue``.
    public func retrieveImage(
        with source: Source, options: KingfisherOptionsInfo = [], progressBlock: ProgressHandler? = nil
    ) async throws(KingfisherError) -> RetrieveImageResult {
        try await retrieveImage(with: source, options: self.options(options).reporting(to: progressBlock))
    }

    /// Retrieves the image of a URL or a resource.
    public func retrieveImage(
        with resource: some SourceConvertible, options: KingfisherOptionsInfo = [],
        progressBlock: ProgressHandler? = nil
    ) async throws(KingfisherError) -> RetrieveImageResult {
        try await retrieveImage(with: resource.convertToSource(), options: options, progressBlock: progressBlock)
    }

    /// Retrieves an image. With `isRepairable`, a cached image that turns out to be damaged is retrieved again.
    func retrieveImage(
        with source: Source, options: KingfisherOptions, isRepairable: Bool
    ) async throws(KingfisherError) -> RetrieveImageResult {
        let waiting = WaitingForImage()
        let job = ImageJob(self, Retrieval(source, OptionsBox(identified(options)), cache), for: waiting)
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                waiting.begin(continuation)
                start(job, with: source, options.request)
            }
        } onCancel: {
            job.cancel()
        }
        var image = try result.get()
        if isRepairable, ![.fetched, .derived, .remote].contains(image.way) { image.repairer = self }
        return image
    }

    // MARK: Stages

    /// Starts a job with one of its sources. A modifier without an identity runs first.
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
        var options = job.asked.options
        options.request = request
        job.retrieval = Retrieval(source, OptionsBox(identified(options)), cache)
        (job.hasLooked, job.hasAskedRemotes, job.retried, job.stale, job.derivation) = (false, false, 0, nil, nil)
        (job.commitsSeen, job.timesStored) = (nil, 0)
    }

    /// Starts jobs: memory hits end, known misses are fetched, and the others are looked up on disk.
    func start(_ jobs: [ImageJob]) {
        var deliveries = Deliveries()
        var missing: [ImageJob] = []
        var unknown: [ImageJob] = []
        for job in jobs where !job.isCancelled {
            let retrieval = job.retrieval
            if job.hasLooked || retrieval.options.forceRefresh && !retrieval.remembersAnswers {
                missing.append(job)
            } else if !retrieval.options.forceRefresh, job.variants.isEmpty, let image = retrieval.inMemory {
                deliveries.add(job, .success(retrieval.result(image, asked: job.asked)))
            } else {
                unknown.append(job)
            }
        }
        fetch(missing)
        lookUp(unknown)
        deliveries.flush()
    }
}

/// A waiting call for one image.
private final class WaitingForImage: ImageRecipient {
    typealias Outcome = Result<RetrieveImageResult, KingfisherError>

    private struct State {
        var continuation: UnsafeContinuation<Outcome, Never>?
        /// The outcome, if a cancellation came before the call began to wait.
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
    /// Returns the options with everything that determines cache keys. The modifier runs here unless it names an
    /// identity or has already run.
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

    /// Returns the options with the identity of the downloader's challenge responder.
    func identified(_ options: KingfisherOptions) -> KingfisherOptions {
        let responder = (options.downloader ?? downloader).authenticationChallengeResponder
        guard let identity = responder?.cacheIdentity, !identity.isEmpty else { return options }
        var options = options
        options.request.responderIdentity = identity
        return options
    }
}
