import KFImaging
import KFStorage

extension KingfisherManager {
    /// Looks for the image in each place where it can be, and gives the retrieval of the representation that the request
    /// is for.
    func find(
        _ retrieval: Retrieval, _ asked: Source
    ) async throws(KingfisherError) -> (retrieval: Retrieval, cached: LookUp) {
        var cached = try await lookUp(retrieval, asked)
        guard case .missing(var stale, _) = cached, retrieval.selects else { return (retrieval, cached) }
        let chosen = try await selected(retrieval)
        if chosen.target != retrieval.target {
            cached = try await lookUp(chosen, asked)
            guard case .missing(let other, _) = cached else { return (chosen, cached) }
            stale = other
        }
        // What expired may serve instead, where that is wanted; otherwise the last answer counts.
        if !retrieval.options.fromMemoryCacheOrRefresh, let refusal = chosen.refusal(now: cache.now),
            !canServe(chosen, stale)
        {
            return (chosen, .refused(refusal))
        }
        return (chosen, cached)
    }

    private func canServe(_ retrieval: Retrieval, _ stale: FoundFile?) -> Bool {
        guard retrieval.options.onlyFromCache, let stale else { return false }
        return retrieval.mayServeStale(stale.file.entry, now: cache.now)
    }

    /// The retrieval of the representation that the request is for, by the index.
    func selected(_ retrieval: Retrieval) async throws(KingfisherError) -> Retrieval {
        guard retrieval.selects else { return retrieval }
        return try await cache.blocking.run { () throws(KingfisherError) in try Self.selectedNow(retrieval) }
    }

    /// The same, on the calling thread.
    static func selectedNow(_ retrieval: Retrieval) throws(KingfisherError) -> Retrieval {
        guard retrieval.selects else { return retrieval }
        var entries = try retrieval.cache.entriesInIndex(forKey: retrieval.target.key)
        if retrieval.originals !== retrieval.cache {
            entries += try retrieval.originals.entriesInIndex(forKey: retrieval.target.key)
        }
        return retrieval.selecting(among: entries)
    }

    /// Looks for the image itself, then for its original to make it from.
    func lookUp(_ retrieval: Retrieval, _ asked: Source) async throws(KingfisherError) -> LookUp {
        let options = retrieval.options
        let outcome = RetrievalOutcome(retrieval, asked: asked)
        if let image = retrieval.inMemory { return .found(outcome.result(.memory, image)) }
        if options.fromMemoryCacheOrRefresh { return .missing(nil, commitsSeen: nil) }
        let commits = try await retrieval.originals.openedStorage()?.commitsOfOthers
        var stale: FoundFile?
        for (cache, keys) in retrieval.places {
            guard
                let found = try await cache.firstFile(
                    of: keys, strict: options.onlyFromCache, where: retrieval.accepts)
            else { continue }
            guard found.isFresh else {
                stale = stale ?? found
                continue
            }
            if found.file.entry.key == retrieval.target, cache === retrieval.cache {
                try await remember(found.file, retrieval)
                return .found(outcome.result(.disk, found.file))
            }
            if let made = try await derive(retrieval, from: found.file, outcome.by(.derived)) { return .found(made) }
            return .missing(nil, commitsSeen: nil)
        }
        return .missing(stale, commitsSeen: commits)
    }

    /// Makes the image from its cached original; nil when that cannot be decoded, so that it is loaded again.
    func derive(
        _ retrieval: Retrieval, from file: CachedFile, _ outcome: RetrievalOutcome, isAgain: Bool = false
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
            let result = try await store(made, retrieval, original: file.entry.object.digest, origin, outcome)
            // What was made of an original that has been replaced meanwhile is not kept.
            if result.cachedPath == nil, retrieval.keepsTarget, !isAgain,
                let newer = try await retrieval.originals.firstFile(
                    of: [retrieval.original], strict: false, where: retrieval.accepts),
                newer.isFresh, newer.file.entry.object.digest != file.entry.object.digest
            {
                return try await derive(retrieval, from: newer.file, outcome, isAgain: true)
            }
            return result
        } catch {
            guard case .processorError = error, await isDamaged(bytes, retrieval.options) else { throw error }
            return nil
        }
    }

    /// A disk hit comes from memory the next time, where memory is wanted at all.
    private func remember(_ file: CachedFile, _ retrieval: Retrieval) async throws(KingfisherError) {
        guard retrieval.usesMemory else { return }
        let expires = retrieval.options.cachePolicy == .http ? StorageExpiration.date(file.entry.expires) : nil
        let bytes = try await cache.blocking.run { () throws(KingfisherError) in try file.readAll() }
        retrieval.cache.storeInMemory(
            CachedImage(
                content: .bytes(bytes), facts: ImageFacts(file.entry), path: file.path,
                selection: retrieval.selection(of: retrieval.isLocal ? nil : OriginFacts(file.entry))),
            retrieval.target,
            expiration: expires ?? retrieval.options.memoryCacheExpiration)
    }

    private func isDamaged(_ bytes: [UInt8], _ options: KingfisherOptions) async -> Bool {
        await WorkerPool.processing.run {
            let inspection = bytes.withUnsafeBytes { bytes in
                Result { () throws(KingfisherError) in try options.inspector.inspect(bytes) }
            }
            if case .failure = inspection { return true }
            return false
        }
    }
}
