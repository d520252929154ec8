import KFImaging
import KFStorage

/// The first stage: memory, then the disk. Blocks on files and the index.
extension KingfisherManager {
    /// Looks for the images on the look-up threads, 16 to a thread.
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

    /// Looks for one image. Returns true if the source must be asked.
    private func lookUp(_ job: ImageJob, _ deliveries: inout Deliveries) throws(KingfisherError) -> Bool {
        let options = job.retrieval.options
        if options.forceRefresh {
            job.retrieval = try Self.selected(job.retrieval)
            return true
        }
        let isFirst = !job.hasLooked
        job.hasLooked = true
        let cached: LookUp
        (job.retrieval, cached) = try find(job.retrieval, asked: job.asked)
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
            // After three rounds in which another process stored an unusable entry, the image is fetched.
            let commits = job.timesStored < 3 ? commits : nil
            if isFirst {
                retrieval.cache.noteMiss()
                let otherwise = Derivation.Otherwise.fetch(stale: stale, commitsSeen: commits)
                if serveWhileRevalidating(job, stale, otherwise, &deliveries) { return false }
            }
            if options.onlyFromCache, !asksRemotes(job) {
                try serveFromCacheOnly(job, stale, &deliveries)
                return false
            }
            job.commitsSeen = commits
            job.stale = stale
            return true
        }
    }

    /// Serves a stale image to a job that allows no fetch. Throws if none may serve.
    func serveFromCacheOnly(
        _ job: ImageJob, _ stale: FoundFile?, _ deliveries: inout Deliveries
    ) throws(KingfisherError) {
        let error = job.retrieval.absence(stale?.file.entry, now: job.retrieval.cache.now)
        if !serveStale(job, stale, .fail(error), &deliveries) { throw error }
    }

    /// Looks for the image in each possible place. Also returns the retrieval for the representation that the request
    /// selects.
    private func find(
        _ retrieval: Retrieval, asked: Retrieval
    ) throws(KingfisherError) -> (retrieval: Retrieval, cached: LookUp) {
        var cached = try lookUp(retrieval, asked: asked)
        guard case .missing(var stale, _) = cached, retrieval.remembersAnswers else { return (retrieval, cached) }
        let chosen = try Self.selected(retrieval)
        if chosen.target != retrieval.target {
            cached = try lookUp(chosen, asked: asked)
            guard case .missing(let other, _) = cached else { return (chosen, cached) }
            stale = other
        }
        // A stale entry may serve instead if the options allow that. Otherwise the last response counts.
        if !retrieval.options.fromMemoryCacheOrRefresh,
            let refusal = chosen.refusal(after: stale?.file.entry, now: cache.now),
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

    /// Returns the retrieval for the representation that the request selects, according to the index.
    static func selected(_ retrieval: Retrieval) throws(KingfisherError) -> Retrieval {
        guard retrieval.selects else {
            guard retrieval.remembersAnswers else { return retrieval }
            return retrieval.knowing(try retrieval.originals.answer(retrieval.answerKey))
        }
        var entries = try retrieval.cache.entriesInIndex(forKey: retrieval.target.key)
        if retrieval.originals !== retrieval.cache {
            entries += try retrieval.originals.entriesInIndex(forKey: retrieval.target.key)
        }
        return retrieval.selecting(among: entries)
    }

    /// Looks for the image itself, then for its original.
    private func lookUp(_ retrieval: Retrieval, asked: Retrieval) throws(KingfisherError) -> LookUp {
        let options = retrieval.options
        if let image = retrieval.inMemory { return .found(retrieval.result(image, asked: asked)) }
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
            // The original itself is the image if it already has the requested format.
            let isImage =
                found.file.entry.key == retrieval.target || retrieval.keepsBytes(of: found.file.entry.format)
            guard isImage, cache === retrieval.cache else { return .derivable(found) }
            try remember(found, retrieval)
            return .found(retrieval.result(.disk, found.file, asked: asked))
        }
        return .missing(stale, commitsSeen: commits)
    }

    /// Stores a disk hit in memory, if the options use memory and it is not too large for that.
    private func remember(_ found: FoundFile, _ retrieval: Retrieval) throws(KingfisherError) {
        guard retrieval.usesMemory, found.file.size <= FileDescriptor.memoryLimit else { return }
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

extension Retrieval {
    /// Returns the result of a file. `asked` is the retrieval of the call, if it is another one.
    func result(_ way: RetrievalWay, _ file: CachedFile, asked: Retrieval? = nil) -> RetrieveImageResult {
        RetrieveImageResult(self, asked: asked ?? self, way, .file(file))
    }

    /// Returns the result of an image in memory.
    func result(_ cached: CachedImage, asked: Retrieval? = nil) -> RetrieveImageResult {
        RetrieveImageResult(self, asked: asked ?? self, .memory, .memory(cached, cache))
    }
}

/// The result of a look-up in the caches.
enum LookUp: Sendable {
    case found(RetrieveImageResult)
    /// A fresh original, from which the image can be made.
    case derivable(FoundFile)
    /// A cached refusal that is still fresh.
    case refused(KingfisherError)
    /// A miss, possibly with a stale entry. `commitsSeen` counts the commits of other processes at that time; nil if
    /// the disk was not read.
    case missing(FoundFile?, commitsSeen: Int64?)
}

/// The shortest path: a memory hit needs no job, no task and no other thread.
extension KingfisherManager {
    /// Returns the image if memory has it exactly as requested. Nil decides nothing: the stages look for it then.
    func imageInMemory(_ source: Source, _ options: KingfisherOptions) -> RetrieveImageResult? {
        guard !options.forceRefresh, !options.revalidate, !Task.isCancelled, options.request.isPrepared,
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
