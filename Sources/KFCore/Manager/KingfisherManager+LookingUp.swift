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
