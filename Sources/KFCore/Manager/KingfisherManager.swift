import KFImaging
import KFStorage

/// Retrieves images: from memory, from the disk, else from their source. Kingfisher's `KingfisherManager`.
public final class KingfisherManager: Sendable {
    public let cache: ImageCache
    public let downloader: ImageDownloader
    let loads = JoinedTasks<LoadKey, LoadAnswer>()

    public init(cache: ImageCache, downloader: ImageDownloader = ImageDownloader()) {
        self.cache = cache
        self.downloader = downloader
    }

    /// Writes what reading left to write and ends the network's thread. To be called before the process exits.
    public func shutdown() async {
        downloader.shutdown()
        await cache.close()
    }

    /// As `shutdown()`, on the calling thread.
    package func shutdownNow() {
        downloader.shutdown()
        cache.closeNow()
    }

    /// The image of a source if it is cached just as it is wanted; nil when it would have to be made or fetched. Runs on
    /// the calling thread, and blocks on the disk: a program that only wants what is there starts no other thread.
    package func retrieveCachedImage(
        with source: Source, options: KingfisherOptions
    ) throws(KingfisherError) -> RetrieveImageResult? {
        guard !options.forceRefresh else { return nil }
        let retrieval = Retrieval(source, options)
        let outcome = RetrievalOutcome(retrieval, asked: source)
        if let image = cache.imageInMemory(
            retrieval.target, extending: options.memoryCacheAccessExtendingExpiration)
        {
            return outcome.result(.memory, image)
        }
        guard !options.fromMemoryCacheOrRefresh,
            let file = try cache.openFile(
                retrieval.target, strict: options.onlyFromCache, where: retrieval.accepts)
        else { return nil }
        return outcome.result(.disk, file)
    }

    /// The image of a source, in the way that costs least. When the source fails, its alternatives are tried in order;
    /// when all fail, the error is `alternativeSourcesExhausted` (5004).
    public func retrieveImage(
        with source: Source, options: KingfisherOptions = KingfisherOptions()
    ) async throws(KingfisherError) -> RetrieveImageResult {
        try await retrieveImage(with: source, options: options, counting: AttemptCount())
    }

    /// The same; the requests that it takes are counted, those of a failure too.
    package func retrieveImage(
        with source: Source, options: KingfisherOptions, counting attempts: AttemptCount
    ) async throws(KingfisherError) -> RetrieveImageResult {
        var errors: [KingfisherError] = []
        for candidate in [source] + options.alternativeSources {
            do {
                return try await retrieve(Retrieval(candidate, options, counting: attempts), asked: source)
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
        let options = retrieval.options
        if !options.forceRefresh {
            let cached = try await lookUp(retrieval, asked)
            if case .found(let result) = cached { return result }
            cache.noteMiss()
            if options.onlyFromCache {
                if let stale = try await serveStale(retrieval, asked, cached.stale) { return stale }
                throw .cacheError(reason: .imageNotExisting(key: retrieval.target.description))
            }
        }
        return try await cache.withFlight(retrieval.original) { () async throws(KingfisherError) in
            guard !options.forceRefresh else { return try await load(retrieval, asked) }
            // Another process may have brought it while this one waited for its turn.
            let cached = try await lookUp(retrieval, asked)
            if case .found(let result) = cached { return result }
            guard let stale = cached.stale else { return try await load(retrieval, asked) }
            return try await revalidate(retrieval, asked, stale)
        }
    }

    private enum LookUp {
        case found(RetrieveImageResult)
        /// Nothing that can be used as it is; perhaps something whose time is over.
        case missing(FoundFile?)

        var stale: FoundFile? {
            if case .missing(let stale) = self { return stale }
            return nil
        }
    }

    /// What the caches have: the image itself, or its original to make it from.
    private func lookUp(_ retrieval: Retrieval, _ asked: Source) async throws(KingfisherError) -> LookUp {
        let options = retrieval.options
        let outcome = RetrievalOutcome(retrieval, asked: asked)
        if !retrieval.wantsOriginal,
            let image = cache.imageInMemory(
                retrieval.target, extending: options.memoryCacheAccessExtendingExpiration)
        {
            return .found(outcome.result(.memory, image))
        }
        if options.fromMemoryCacheOrRefresh { return .missing(nil) }
        guard
            let found = try await cache.firstFile(
                of: retrieval.keysOnDisk, strict: options.onlyFromCache, where: retrieval.accepts)
        else { return .missing(nil) }
        guard found.isFresh else { return .missing(found) }
        if found.index == 0 { return .found(outcome.result(.disk, found.file)) }
        return try await derive(retrieval, from: found.file, outcome.by(.derived)).map(LookUp.found) ?? .missing(nil)
    }

    /// Makes the image from its cached original; nil when that cannot be decoded, so that it is loaded again.
    func derive(
        _ retrieval: Retrieval, from file: CachedFile, _ outcome: RetrievalOutcome
    ) async throws(KingfisherError) -> RetrieveImageResult? {
        let bytes = try await cache.blocking.run { () throws(KingfisherError) in try file.readAll() }
        let format = file.entry.format
        let origin = retrieval.isLocal ? nil : OriginFacts(file.entry)
        do {
            if retrieval.keepsBytes(of: format) {
                return try await store(
                    untouched: .memory(bytes), retrieval, format, file.entry.object.pixels, origin, outcome)
            }
            let made = try await process(bytes, format, retrieval)
            return try await store(made, retrieval, original: file.entry.object.digest, origin, outcome)
        } catch .processorError where isDamaged(bytes, retrieval.options) {
            return nil
        }
    }

    private func isDamaged(_ bytes: [UInt8], _ options: KingfisherOptions) -> Bool {
        let inspection = bytes.withUnsafeBytes { bytes in
            Result { () throws(KingfisherError) in try ImageInspector.inspect(bytes, limits: options.decodeLimits) }
        }
        if case .failure = inspection { return true }
        return false
    }
}
