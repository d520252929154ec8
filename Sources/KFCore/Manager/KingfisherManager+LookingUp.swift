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

    /// Looks for one image. Returns true if the remotes or the source must be asked.
    private func lookUp(_ job: ImageJob, _ deliveries: inout Deliveries) throws(KingfisherError) -> Bool {
        let isForced = job.retrieval.options.forceRefresh
        let isFirst = !job.hasLooked && !isForced
        job.hasLooked = !isForced
        let found = try job.retrieval.look(asksRemotes: asksRemotes(job), isFirst: isFirst)
        let retrieval = found.retrieval
        job.retrieval = retrieval
        switch found.decision {
        case .need: return false
        case .serveFromMemory(let image):
            end(job, with: retrieval.result(image, asked: job.asked), &deliveries)
            return false
        case .serve(let file):
            file.cache.noteHit(file)
            try remember(file, retrieval)
            end(job, with: retrieval.result(.disk, file.file, asked: job.asked), &deliveries)
            return false
        case .make(let file):
            file.cache.noteHit(file)
            var derivation = Derivation(
                file: file.file, way: .derived, otherwise: .fetch(stale: nil, commitsSeen: nil))
            derivation.removals = file.isBorrowed ? nil : file.removals
            derive(job, derivation)
            return false
        case .fail, .serveStale, .ask: break
        }
        if isFirst { retrieval.cache.noteMiss() }
        // After three rounds in which another process stored an unusable entry, the image is fetched.
        let commits = job.timesStored < 3 ? found.sight.commits : nil
        switch found.decision {
        case .serveStale(let stale, renews: true):
            serveWhileRevalidating(job, stale, .fetch(stale: stale, commitsSeen: commits), &deliveries)
        case .ask(let stale, _):
            if let stale { stale.cache.noteHit(stale) }
            job.commitsSeen = commits
            job.stale = stale
            return true
        default: try serveWithoutRequest(job, found.decision, &deliveries)
        }
        return false
    }

    private func end(_ job: ImageJob, with result: RetrieveImageResult, _ deliveries: inout Deliveries) {
        if job.variants.isEmpty { deliveries.add(job, .success(result)) } else { makeVariants(of: result, job) }
    }

    /// Serves a stale image to a job that allows no fetch, or throws the error of the decision.
    func serveWithoutRequest(
        _ job: ImageJob, _ decision: Decision, _ deliveries: inout Deliveries
    ) throws(KingfisherError) {
        switch decision {
        case .serveStale(let stale, _):
            serve(job, stale, .fail(job.retrieval.absence(stale.entry, now: job.retrieval.cache.now)), &deliveries)
        case .fail(let error): throw error
        default: break
        }
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
