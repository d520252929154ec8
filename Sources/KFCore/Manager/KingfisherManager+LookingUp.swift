import KFImaging
import KFStorage

/// The first stage: memory, then the disk. Blocks on files and the index.
extension KingfisherManager {
    /// Looks for images on the threads for that.
    func lookUp(_ jobs: [ImageJob]) {
        var rest = jobs[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(Self.lookedUpTogether))
            rest = rest.dropFirst(some.count)
            StoreWorkers.blocking.submit { [self] in
                var deliveries = Deliveries()
                var missing: [ImageJob] = []
                for job in some where !job.isCancelled {
                    do throws(KingfisherError) {
                        if try lookUp(job, &deliveries) { missing.append(job) }
                    } catch {
                        fail(job, error, &deliveries)
                    }
                }
                fetch(missing)
                deliveries.flush()
            }
        }
    }

    private static let lookedUpTogether = 16

    /// True when the source is to be asked.
    private func lookUp(_ job: ImageJob, _ deliveries: inout Deliveries) throws(KingfisherError) -> Bool {
        let options = job.retrieval.options
        if options.forceRefresh {
            job.retrieval = try Self.selected(job.retrieval)
            return true
        }
        let isFirst = !job.hasLooked
        job.hasLooked = true
        let cached: LookUp
        (job.retrieval, cached) = try find(job.retrieval, job.asked)
        let retrieval = job.retrieval
        switch cached {
        case .found(let result):
            if job.variants.isEmpty {
                deliveries.add(job, .success(result))
            } else {
                makeVariants(of: result, job)
            }
            return false
        case .derivable(let found):
            var derivation = Derivation(
                file: found.file, way: .derived, otherwise: .fetch(stale: nil, commitsSeen: nil))
            derivation.removals = found.isBorrowed ? nil : found.removals
            derive(job, derivation)
            return false
        case .refused(let error):
            if isFirst { retrieval.cache.noteMiss() }
            throw error
        case .missing(let stale, let commits):
            // What is stored again and again, and can never be used, is fetched in the end.
            let commits = retrieval.timesStored < 3 ? commits : nil
            if isFirst {
                retrieval.cache.noteMiss()
                let otherwise = Derivation.Otherwise.fetch(stale: stale, commitsSeen: commits)
                if serveWhileRevalidating(job, stale, otherwise, &deliveries) { return false }
                if options.onlyFromCache {
                    let error = KingfisherError.cacheError(
                        reason: .imageNotExisting(key: retrieval.target.description))
                    if serveStale(job, stale, .fail(error), &deliveries) { return false }
                    throw error
                }
            }
            job.retrieval.commitsSeen = commits
            job.stale = stale
            return true
        }
    }

    /// Looks for the image in each place where it can be, and gives the retrieval of the representation that the request
    /// is for.
    private func find(
        _ retrieval: Retrieval, _ asked: Source
    ) throws(KingfisherError) -> (retrieval: Retrieval, cached: LookUp) {
        var cached = try lookUp(retrieval, asked)
        guard case .missing(var stale, _) = cached, retrieval.selects else { return (retrieval, cached) }
        let chosen = try Self.selected(retrieval)
        if chosen.target != retrieval.target {
            cached = try lookUp(chosen, asked)
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
    static func selected(_ retrieval: Retrieval) throws(KingfisherError) -> Retrieval {
        guard retrieval.selects else { return retrieval }
        var entries = try retrieval.cache.entriesInIndex(forKey: retrieval.target.key)
        if retrieval.originals !== retrieval.cache {
            entries += try retrieval.originals.entriesInIndex(forKey: retrieval.target.key)
        }
        return retrieval.selecting(among: entries)
    }

    /// Looks for the image itself, then for its original to make it from.
    private func lookUp(_ retrieval: Retrieval, _ asked: Source) throws(KingfisherError) -> LookUp {
        let options = retrieval.options
        let outcome = RetrievalOutcome(retrieval, asked: asked)
        if let image = retrieval.inMemory { return .found(outcome.result(.memory, image)) }
        if options.fromMemoryCacheOrRefresh { return .missing(nil, commitsSeen: nil) }
        let commits = try retrieval.originals.storage()?.commitsOfOthers
        var stale: FoundFile?
        for (cache, keys) in retrieval.places {
            guard
                let found = try cache.firstFile(of: keys, strict: options.onlyFromCache, where: retrieval.accepts)
            else { continue }
            guard found.isFresh, !retrieval.asksOrigin else {
                stale = stale ?? found
                continue
            }
            guard found.file.entry.key == retrieval.target, cache === retrieval.cache else { return .derivable(found) }
            try remember(found, retrieval)
            return .found(outcome.result(.disk, found.file))
        }
        return .missing(stale, commitsSeen: commits)
    }

    /// A disk hit comes from memory the next time, where memory is wanted at all.
    private func remember(_ found: FoundFile, _ retrieval: Retrieval) throws(KingfisherError) {
        guard retrieval.usesMemory else { return }
        let file = found.file
        let expires = retrieval.options.cachePolicy == .http ? StorageExpiration.date(file.entry.expires) : nil
        retrieval.cache.storeInMemory(
            CachedImage(
                bytes: try file.readAll(), facts: ImageFacts(file.entry), path: file.path,
                selection: retrieval.selection(of: retrieval.isLocal ? nil : OriginFacts(file.entry))),
            retrieval.target,
            expiration: expires ?? retrieval.options.memoryCacheExpiration, unlessRemovedSince: found.removals)
    }
}

/// What the caches have.
enum LookUp: Sendable {
    case found(RetrieveImageResult)
    /// A fresh original that the image can be made from.
    case derivable(FoundFile)
    /// The server has said that there is no image, and until when that holds.
    case refused(KingfisherError)
    /// Nothing that can be used as it is; perhaps something whose time is over. With the commits of other processes at
    /// that time, if the disk was looked at.
    case missing(FoundFile?, commitsSeen: Int64?)
}

/// The shortest way: an image in memory costs no job, no task and no trip to another thread.
extension KingfisherManager {
    /// The image if it is in memory just as it is wanted. Nil says nothing: the stages look for it then.
    func imageInMemory(_ source: Source, _ options: KingfisherOptions) -> RetrieveImageResult? {
        guard !options.forceRefresh, !options.revalidate, !Task.isCancelled, options.request.isPrepared,
            (options.downloader ?? downloader).authenticationChallengeResponder == nil
        else { return nil }
        let cache = options.targetCache ?? cache
        let key = EntryKey(key: source.cacheKey(for: options.request), identifier: options.identifier)
        // Which requests a selected one is for, the stages know.
        guard let image = cache.imageInMemory(key, extending: options.memoryCacheAccessExtendingExpiration),
            image.selection == nil
        else { return nil }
        return RetrieveImageResult(
            source: source, originalSource: source, way: .memory, key: key.key, identifier: key.identifier,
            facts: image.facts, storing: CacheStoreResult(), response: nil, attempts: 0, isPersonal: false, check: nil,
            warnings: [], content: .memory(image, cache),
            terms: ResultTerms(options.processing, options.cacheSerializer, options.imageModifier),
            cachedPath: image.path)
    }
}

/// What the cache has of a source, and what the next retrieval will do.
public struct CacheExplanation: Sendable {
    /// What the image is kept under.
    public let key: String
    /// Of what is to be done to it; empty for an original.
    public let identifier: String
    /// The image as it is wanted; it may have expired.
    public let target: CachedEntry?
    /// Its file can be read and is what was stored.
    public let isTargetWhole: Bool
    /// The original and everything made from it, expired or not; first the cache's own, then the lower layers'.
    public let entries: [CachedEntry]
    /// What the next retrieval will do.
    public let plan: RetrievalPlan
}

extension KingfisherManager {
    /// Says what `retrieveImage` would do, without doing it: nothing is fetched, touched or counted. A modifier without an
    /// identity runs.
    public func explain(
        _ source: Source, options: KingfisherOptions = KingfisherOptions()
    ) async throws(KingfisherError) -> CacheExplanation {
        let asked = Retrieval(source, try await prepared(options, for: source), cache)
        let entries = try await cache.entriesOfAllLayers(forKey: asked.target.key)
        let retrieval = asked.selecting(among: entries.map(\.entry))
        let candidates = try await cache.blocking.run { [cache] () throws(KingfisherError) in
            try retrieval.keysOnDisk.map { key throws(KingfisherError) in
                try Self.best(of: entries.filter { $0.entry.key == key }, for: retrieval, cache)
            }
        }
        let plan = retrieval.plan(
            candidates.map { $0?.candidate }, inMemory: cache.memory.isCached(retrieval.target), now: cache.now)
        return CacheExplanation(
            key: retrieval.target.key, identifier: retrieval.target.identifier, target: candidates[0]?.cached,
            isTargetWhole: candidates[0]?.candidate.isWhole ?? false, entries: entries, plan: plan)
    }

    private typealias Choice = (cached: CachedEntry, candidate: Retrieval.Candidate)

    /// The one of the layers that a look-up takes: the first that is fresh, else the first that can be used at all.
    private static func best(
        of entries: [CachedEntry], for retrieval: Retrieval, _ cache: ImageCache
    ) throws(KingfisherError) -> Choice? {
        var choices: [Choice] = []
        for cached in entries {
            let candidate = Retrieval.Candidate(
                entry: cached.entry, isWhole: try cache.isWhole(cached), isBorrowed: cached.layer != nil)
            choices.append((cached, candidate))
        }
        let usable = choices.filter { $0.candidate.isWhole && retrieval.accepts($0.cached.entry) }
        return usable.first { !$0.cached.isExpired } ?? usable.first ?? choices.first
    }
}
