import KFImaging
import KFStorage
import KFTerms
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
    public func options(_ items: KingfisherOptionsInfo? = nil) -> KingfisherOptions {
        KingfisherOptions(defaultOptions + (items ?? []))
    }

    /// Waits for stores in flight, writes pending access times, and ends the network thread. Call it before the process
    /// exits.
    public func shutdown() async {
        await background.wait()
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
        with source: Source, options: KingfisherOptions, pin: ContentHash? = nil
    ) throws(KingfisherError) -> RetrieveImageResult? {
        guard options.request.isPrepared, options.overlayProblem == nil else { return nil }
        let retrieval = Retrieval(source, OptionsBox(identified(options)), cache, pin: pin)
        guard !retrieval.isForced, !retrieval.asksOrigin else { return nil }
        let found = try retrieval.look(asksRemotes: retrieval.asksRemotes)
        return try found.retrieval.cachedImage(found.decision)
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
        with source: Source, options: KingfisherOptionsInfo? = nil, progressBlock: ProgressHandler? = nil
    ) async throws(KingfisherError) -> RetrieveImageResult {
        try await retrieveImage(with: source, options: self.options(options).reporting(to: progressBlock))
    }

    /// Retrieves the image of a URL or a resource.
    public func retrieveImage(
        with resource: some SourceConvertible, options: KingfisherOptionsInfo? = nil,
        progressBlock: ProgressHandler? = nil
    ) async throws(KingfisherError) -> RetrieveImageResult {
        try await retrieveImage(with: resource.convertToSource(), options: options, progressBlock: progressBlock)
    }

    /// Retrieves an image. With `isRepairable`, a cached image that turns out to be damaged is retrieved again.
    func retrieveImage(
        with source: Source, options: KingfisherOptions, isRepairable: Bool
    ) async throws(KingfisherError) -> RetrieveImageResult {
        let retrieval = Retrieval(source, OptionsBox(identified(options)), cache)
        let found = await results(of: retrieval, .one)[0]
        if case .failure(let error) = found, let image = options.onFailureImage, !error.isCancellation {
            return retrieval.result(image, insteadOf: error)
        }
        let image = try found.get()
        return isRepairable ? repairable(image) : image
    }

    /// Returns a cached image that is retrieved again if it turns out to be damaged.
    func repairable(_ image: RetrieveImageResult) -> RetrieveImageResult {
        var image = image
        if ![.fetched, .derived, .remote].contains(image.way) { image.repairer = self }
        return image
    }

    /// Runs a job for a waiting call. Returns as many results as are wanted.
    func results(
        of retrieval: Retrieval, _ wanted: ImageJob.Wanted, asking: Asking? = nil
    ) async -> [Result<RetrieveImageResult, KingfisherError>] {
        let call = WaitingCall()
        let job = ImageJob(self, retrieval, wanted, for: call, asking: asking)
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                call.begin(continuation)
                job.start(with: retrieval.source, retrieval.options.request)
            }
        } onCancel: {
            job.cancel()
        }
    }
}

/// A waiting call.
private final class WaitingCall: ImageRecipient {
    typealias Results = [ImageJob.End]

    private struct State {
        var continuation: UnsafeContinuation<Results, Never>?
        /// The results, if a cancellation came before the call began to wait.
        var results: Results?
    }

    private let state = Mutex(State())

    func begin(_ continuation: UnsafeContinuation<Results, Never>) {
        let results = state.withLock { state in
            if state.results == nil { state.continuation = continuation }
            return state.results
        }
        if let results { continuation.resume(returning: results) }
    }

    func ended(_ jobs: [ImageJob]) {
        guard let results = jobs.first?.results else { return }
        let continuation = state.withLock { state in
            if state.continuation == nil { state.results = results }
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: results)
    }
}

extension KingfisherManager {
    /// Returns the options with everything that determines cache keys. The modifier runs here unless it names an
    /// identity or has already run.
    package func prepared(
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
    package func identified(_ options: KingfisherOptions) -> KingfisherOptions {
        let responder = (options.downloader ?? downloader).authenticationChallengeResponder
        guard let identity = responder?.cacheIdentity, !identity.isEmpty else { return options }
        var options = options
        options.request.responderIdentity = identity
        return options
    }
}

/// The shortest path: a memory hit needs no job, no task and no other thread.
extension KingfisherManager {
    /// Returns the image if memory has it exactly as requested. Nil decides nothing: the stages look for it then.
    func imageInMemory(_ source: Source, _ options: KingfisherOptions) -> RetrieveImageResult? {
        guard !options.forceRefresh, !options.revalidate, options.expectedHash == nil,
            !options.notesOriginal, options.filter == nil, !Task.isCancelled,
            options.request.isPrepared,
            (options.downloader ?? downloader).authenticationChallengeResponder == nil
        else { return nil }
        let cache = options.targetCache ?? cache
        let key = EntryKey(key: source.cacheKey(for: options.request), identifier: options.identifier)
        // Only the stages can match an image that Vary restricts with the request.
        guard let image = cache.imageInMemory(key, extending: options.memoryCacheAccessExtendingExpiration),
            image.selection == nil
        else { return nil }
        return RetrieveImageResult(
            named: source, key, ResultTerms(options.processing, options.cacheSerializer, options.imageModifier),
            .memory(image, cache))
    }
}

extension KingfisherManager {
    /// Removes a damaged image with this name and content from the caches, and retrieves it again.
    func repaired(_ asked: Retrieval, _ name: EntryKey, sha256: String?) async throws(KingfisherError) -> Image {
        try await asked.cache.removeDamaged(name, sha256: sha256)
        var options = asked.options
        options.expectedHash = asked.pin
        return try await retrieveImage(with: asked.source, options: options, isRepairable: false).decoded()
    }
}
