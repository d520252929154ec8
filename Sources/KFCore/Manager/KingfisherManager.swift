import KFImaging
import KFStorage
import Synchronization

/// Retrieves images: from memory, from the disk, else from their source. Kingfisher's `KingfisherManager`.
public final class KingfisherManager: Sendable {
    /// Used where the options name no other.
    public let cache: ImageCache
    /// Used where the options name no other.
    public let downloader: ImageDownloader
    let reads = JoinedTasks<ReadKey, DownloadAnswer>()
    let background = BackgroundWork()
    /// What is asked again while what expired of it has been given out.
    let revalidating = Mutex<Set<EntryKey>>([])
    private let defaults = Mutex(KingfisherOptionsInfo())

    /// Makes a manager; several may share a cache, or a downloader.
    public init(cache: ImageCache, downloader: ImageDownloader = ImageDownloader()) {
        self.cache = cache
        self.downloader = downloader
    }

    /// Options that stand before those of each call that gives a list of them; what a call says itself wins.
    public var defaultOptions: KingfisherOptionsInfo {
        get { defaults.withLock { $0 } }
        set { defaults.withLock { $0 = newValue } }
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
        guard !options.forceRefresh, options.request.isPrepared else { return nil }
        let retrieval = Retrieval(source, identified(options), cache)
        let outcome = RetrievalOutcome(retrieval, asked: source)
        if let image = retrieval.inMemory { return outcome.result(.memory, image) }
        guard !options.fromMemoryCacheOrRefresh else { return nil }
        if let file = try openFile(of: retrieval) { return outcome.result(.disk, file) }
        let chosen = try Self.selectedNow(retrieval)
        guard chosen.target != retrieval.target, let file = try openFile(of: chosen) else { return nil }
        return RetrievalOutcome(chosen, asked: source).result(.disk, file)
    }

    private func openFile(of retrieval: Retrieval) throws(KingfisherError) -> CachedFile? {
        try retrieval.cache.openFile(
            retrieval.target, strict: retrieval.options.onlyFromCache, where: retrieval.accepts)
    }

    /// The image of a source, in the way that costs least. When the source fails, its alternatives are tried in order;
    /// when all fail, the error is `alternativeSourcesExhausted` (5004). An alternative on another origin gets neither the
    /// credentials nor the headers of the options, except for headers that hold no secret.
    public func retrieveImage(
        with source: Source, options: KingfisherOptions = KingfisherOptions()
    ) async throws(KingfisherError) -> RetrieveImageResult {
        try await retrieveImage(with: source, options: options, counting: AttemptCount())
    }

    /// The same with a list of options, which the manager's `defaultOptions` stand before.
    public func retrieveImage(
        with source: Source, options: KingfisherOptionsInfo
    ) async throws(KingfisherError) -> RetrieveImageResult {
        try await retrieveImage(with: source, options: KingfisherOptions(defaultOptions + options))
    }

    /// The same; the requests that it takes are counted, those of a failure too.
    package func retrieveImage(
        with source: Source, options: KingfisherOptions, counting attempts: AttemptCount
    ) async throws(KingfisherError) -> RetrieveImageResult {
        var errors: [KingfisherError] = []
        for (index, candidate) in ([source] + options.alternativeSources).enumerated() {
            do {
                var options = options
                if index > 0 { options.request = options.request.asking(candidate, insteadOf: source) }
                options = try await prepared(options, for: candidate)
                return try await retrieve(Retrieval(candidate, options, cache, counting: attempts), asked: source)
            } catch {
                // A cancelled wish is not to be fulfilled by another source, and a broken cache fails them all.
                if error.isCancellation || error.isCacheFailure || options.alternativeSources.isEmpty { throw error }
                errors.append(error)
            }
        }
        throw .sourceError(reason: .alternativeSourcesExhausted(errors))
    }

    private func retrieve(
        _ retrieval: Retrieval, asked: Source
    ) async throws(KingfisherError) -> RetrieveImageResult {
        if Task.isCancelled { throw .requestError(reason: .taskCancelled) }
        let options = retrieval.options
        var retrieval = retrieval
        var missing: LookUp?
        if options.isKnownMissing {
            retrieval.cache.noteMiss()
        } else if !options.forceRefresh {
            let cached: LookUp
            (retrieval, cached) = try await find(retrieval, asked)
            if case .found(let result) = cached { return result }
            missing = cached
            retrieval.cache.noteMiss()
            if case .refused(let error) = cached { throw error }
            if let stale = try await serveWhileRevalidating(retrieval, asked, cached.stale) { return stale }
            if options.onlyFromCache {
                if let stale = try await serveStale(retrieval, asked, cached.stale) { return stale }
                throw .cacheError(reason: .imageNotExisting(key: retrieval.target.description))
            }
        }
        return try await options.waitForCache
            ? bring(retrieval, asked, missing) : bringEarly(retrieval, asked, missing)
    }

    /// What no cache has, from its source. `missing` is what a look into the caches has come to, if there was one.
    func bring(
        _ retrieval: Retrieval, _ asked: Source, _ missing: LookUp?
    ) async throws(KingfisherError) -> RetrieveImageResult {
        if retrieval.options.forceRefresh { return try await load(try await selected(retrieval), asked) }
        var (retrieval, cached) = (retrieval, missing)
        if missing == nil { (retrieval, cached) = try await find(retrieval, asked) }
        switch cached {
        case .found(let result)?: return result
        case .refused(let error)?: throw error
        case nil: return try await load(retrieval, asked)
        case .missing(let stale, let commitsSeen)?:
            // What is stored again and again, and can never be used, is fetched in the end.
            retrieval.commitsSeen = retrieval.timesStored < 3 ? commitsSeen : nil
            guard let stale else { return try await load(retrieval, asked) }
            return try await revalidate(retrieval, asked, stale)
        }
    }

    /// Another process has stored the image while this one waited for its turn.
    func takeStored(_ retrieval: Retrieval, _ asked: Source) async throws(KingfisherError) -> RetrieveImageResult {
        var retrieval = retrieval
        retrieval.timesStored += 1
        return try await bring(retrieval, asked, nil)
    }

    /// The same; the image is given out as soon as it is there, and is stored after that.
    private func bringEarly(
        _ retrieval: Retrieval, _ asked: Source, _ missing: LookUp?
    ) async throws(KingfisherError) -> RetrieveImageResult {
        let early = EarlyResult()
        var retrieval = retrieval
        retrieval.early = early
        let task = background.start { [self, retrieval] in
            do throws(KingfisherError) {
                early.give(.success(try await bring(retrieval, asked, missing)))
            } catch {
                early.give(.failure(error))
            }
        }
        let outcome = await withTaskCancellationHandler {
            await early.value()
        } onCancel: {
            // What is being stored already is stored to its end.
            if early.isOpen { task.cancel() }
        }
        return try outcome.get()
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
