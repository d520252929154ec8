import KFImaging
import KFStorage
import KFTerms

/// The first stage: memory, then the disk. Blocks on files and the index.
extension KingfisherManager {
    /// Looks for the images on the look-up threads, 16 to a thread.
    func lookUp(_ jobs: [ImageJob]) {
        var rest = jobs[...]
        while !rest.isEmpty {
            let some = rest.prefix(Self.lookedUpTogether)
            rest = rest.dropFirst(some.count)
            StoreWorkers.blocking.submit { [self] in
                Turn.run { turn in
                    for job in some where !job.isCancelled {
                        do throws(KingfisherError) {
                            try lookUp(job, &turn)
                        } catch {
                            fail(job, error, &turn)
                        }
                    }
                }
            }
        }
    }

    private static let lookedUpTogether = 16

    private func lookUp(_ job: ImageJob, _ turn: inout Turn) throws(KingfisherError) {
        if case .several(let retrievals) = job.wanted { return split(job, retrievals, &turn) }
        let (before, isFirst, timesStored) = job.state.withLock { state in
            let isForced = state.retrieval.options.forceRefresh
            defer { state.hasLooked = !isForced }
            return (state.retrieval, !state.hasLooked && !isForced, state.timesStored)
        }
        let moment = job.downloader.work.moment
        let (retrieval, sight, decision) = try before.look(asksRemotes: asksRemotes(job), isFirst: isFirst)
        job.state.withLock { $0.retrieval = retrieval }
        if isFirst, decision.isMiss { retrieval.cache.noteMiss() }
        var asking = Asking(answer: sight.answer)
        // After three rounds in which others stored an unusable entry, the image is fetched.
        if timesStored < 3 {
            if !retrieval.options.forceRefresh { asking.commits = sight.commits }
            if !retrieval.options.forceRefresh || retrieval.options.answers != nil { asking.moment = moment }
        }
        switch decision {
        case .need: break
        case .serveFromMemory(let image) where !job.makesVariants:
            turn.end(job, .success(retrieval.result(image, asked: job.asked)))
        case .serveFromMemory(let image): makeVariants(of: retrieval.result(image), job)
        case .serve(let file) where !job.makesVariants:
            file.cache.noteHit(file)
            try remember(file, retrieval)
            turn.end(job, .success(retrieval.result(file.way, file.file, asked: job.asked)))
        case .serve(let file), .make(let file):
            file.cache.noteHit(file)
            derive(
                job,
                Derivation(
                    file: file.file, way: file.isElsewhere ? .pinned : .derived, keeps: !file.isElsewhere,
                    isHashed: retrieval.isHashed(file), removals: file.isBorrowed ? nil : file.removals))
        case .serveStale(let stale, renews: true):
            serveWhileRevalidating(job, stale, .success(asking.after(stale)), &turn)
        case .ask(let found, _):
            var stale = found
            if stale == nil { stale = try job.staleVariant() }
            if let stale { stale.cache.noteHit(stale) }
            if job.enter(.fetching(asking.after(stale))) { turn.jobs.append(job) }
        case .serveStale, .fail: try serveWithoutRequest(job, decision, &turn)
        }
    }

    /// Serves a stale image to a job that allows no fetch, or throws the error of the decision.
    func serveWithoutRequest(
        _ job: ImageJob, _ decision: Decision, _ turn: inout Turn
    ) throws(KingfisherError) {
        switch decision {
        case .serveStale(let stale, _):
            serve(job, stale, .failure(job.retrieval.absence(stale.entry, now: job.retrieval.cache.now)), &turn)
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

    /// Returns the result with the image of the options for failures.
    func result(_ image: Image, insteadOf error: KingfisherError) -> RetrieveImageResult {
        let pixels = PixelFacts(width: image.width, height: image.height, frames: image.frames.count)
        let facts = ImageFacts(format: image.sourceFormat ?? .png, pixels, bytes: 0, digest: nil)
        let content = Outcome.Content.memory(CachedImage(bytes: nil, image: image, facts: facts, path: nil), cache)
        return RetrieveImageResult(self, asked: self, .onFailure, content, Outcome.Facts(failure: error))
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
