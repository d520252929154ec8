import KFImaging
import KFStorage
import KFTerms

/// The first stage: memory, then the disk.
extension ImageJob {
    /// Starts with one of the sources. A modifier without an identity runs first.
    func start(with source: Source, _ request: RequestOptions) {
        guard case .network(let resource) = source, !request.isPrepared else {
            if state.withLock({ !$0.errors.isEmpty }) { place(source, request) }
            return Self.start([self])
        }
        Task { [self] in
            do throws(KingfisherError) {
                place(source, try await request.prepared(for: resource.downloadURL))
                Self.start([self])
            } catch {
                Turn.run { fail(error, &$0) }
            }
        }
    }

    private func place(_ source: Source, _ request: RequestOptions) {
        func of(_ asked: Retrieval) -> Retrieval {
            var options = asked.options
            options.request = request
            return Retrieval(source, OptionsBox(manager.identified(options)), manager.cache, pin: asked.pin)
        }
        let (retrieval, variants) = (of(asked), askedVariants.map(of))
        state.withLock { state in
            state.retrieval = retrieval
            state.variants = variants
            (state.hasLooked, state.hasAskedRemotes, state.timesStored, state.retried) = (false, false, 0, 0)
        }
        enter(.looking)
    }

    /// Starts jobs: memory hits end, known misses are fetched, and the others are looked up on disk.
    package static func start(_ jobs: [ImageJob]) {
        var unknown: [ImageJob] = []
        Turn.run { turn in
            for job in jobs where !job.isCancelled {
                // No alternative has what the overlay lacks.
                if let problem = job.asked.options.overlayProblem, case .one = job.wanted {
                    turn.end(job, .failure(problem))
                    continue
                }
                switch (job.stage, job.wanted) {
                case (.fetching, _): turn.jobs.append(job)
                case (_, .one) where !job.asked.isForced:
                    let retrieval = job.retrieval
                    if let image = retrieval.inMemory {
                        turn.end(job, .success(retrieval.result(image, asked: job.asked)))
                    } else {
                        unknown.append(job)
                    }
                default: unknown.append(job)
                }
            }
            look(unknown)
        }
    }

    /// Looks for the images of jobs on the look-up threads, 16 to a thread, which block on files and the index.
    static func look(_ jobs: [ImageJob]) {
        var rest = jobs[...]
        while !rest.isEmpty {
            let some = rest.prefix(lookedUpTogether)
            rest = rest.dropFirst(some.count)
            StoreWorkers.blocking.submit {
                Turn.run { turn in
                    for job in some where !job.isCancelled {
                        do throws(KingfisherError) {
                            try job.look(&turn)
                        } catch {
                            job.fail(error, &turn)
                        }
                    }
                }
            }
        }
    }

    private static let lookedUpTogether = 16

    private func look(_ turn: inout Turn) throws(KingfisherError) {
        if case .several(let retrievals) = wanted { return split(retrievals) }
        let (before, isFirst, timesStored) = state.withLock { state in
            let isForced = state.retrieval.options.forceRefresh
            defer { state.hasLooked = !isForced }
            return (state.retrieval, !state.hasLooked && !isForced, state.timesStored)
        }
        let moment = downloader.work.moment
        let (retrieval, sight, decision) = try before.look(asksRemotes: asksRemotes, isFirst: isFirst)
        state.withLock { $0.retrieval = retrieval }
        if isFirst, decision.isMiss { retrieval.cache.noteMiss() }
        var asking = Asking(answer: sight.answer)
        if case .together(_, let terms) = wanted { asking.isUnconditional = terms.isUnconditional }
        // After three rounds in which others stored an unusable entry, the image is fetched.
        if timesStored < 3 {
            if !retrieval.options.forceRefresh { asking.commits = sight.commits }
            if !retrieval.options.forceRefresh || retrieval.options.answers != nil { asking.moment = moment }
        }
        switch decision {
        case .need: break
        case .serveFromMemory(let image) where !makesVariants:
            turn.end(self, .success(retrieval.result(image, asked: asked)))
        case .serveFromMemory(let image): makeVariants(of: retrieval.result(image))
        case .serve(let file) where !makesVariants:
            file.cache.noteHit(file)
            try retrieval.remember(file)
            turn.end(self, .success(retrieval.result(file.way, file.file, asked: asked)))
        case .serve(let file), .make(let file):
            file.cache.noteHit(file)
            derive(Derivation(file, file.isElsewhere ? .pinned : .derived, keeps: !file.isElsewhere))
        case .serveStale(let stale, renews: true):
            serveWhileRevalidating(stale, .success(asking.after(stale)), &turn)
        case .ask(let found, _):
            var stale = found
            if stale == nil { stale = try staleFile(of: variants) }
            if let stale { stale.cache.noteHit(stale) }
            if enter(.fetching(asking.after(stale))) { turn.jobs.append(self) }
        case .serveStale, .fail: try serveWithoutRequest(decision, &turn)
        }
    }

    /// Serves a stale image to a job that allows no fetch, or throws the error of the decision.
    func serveWithoutRequest(_ decision: Decision, _ turn: inout Turn) throws(KingfisherError) {
        switch decision {
        case .serveStale(let stale, _):
            serve(stale, .failure(retrieval.absence(stale.entry, now: retrieval.now)), &turn)
        case .fail(let error): throw error
        default: break
        }
    }
}

extension Retrieval {
    /// Returns the image that a look-up has found, if nothing is left to do for it.
    func cachedImage(_ decision: Decision) throws(KingfisherError) -> RetrieveImageResult? {
        switch decision {
        case .serveFromMemory(let image): return result(image)
        case .serve(let file):
            file.cache.noteHit(file, waits: true)
            return result(file.way, file.file)
        case .serveStale(let file, renews: false)
        where options.offline && file.entry.key == target:
            return result(.stale, file.file)
        case .fail(let error) where error.isLeftOut: throw error
        default: return nil
        }
    }

    /// Stores a disk hit in memory, if the options use memory and it is not too large for that.
    func remember(_ found: FoundFile) throws(KingfisherError) {
        guard usesMemory, found.file.size <= FileDescriptor.memoryLimit else { return }
        let file = found.file
        let expires = options.cachePolicy == .http ? StorageExpiration.date(file.entry.expires) : nil
        cache.storeInMemory(
            CachedImage(
                bytes: try file.readAll(), facts: ImageFacts(file.entry), path: file.path,
                selection: selection(of: isLocal ? nil : OriginFacts(file.entry))),
            target, expiration: expires ?? options.memoryCacheExpiration, unlessRemovedSince: found.removals)
    }

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
