import KFImaging
import KFStorage
import KFTerms

/// The later stages of a miss: fetching from the source, and making the requested image.
extension KingfisherManager {
    /// Fetches from the sources, after the remotes. Equal requests share one transfer (single flight).
    func fetch(_ jobs: [ImageJob]) {
        var reads: [any StoreWork] = []
        askRemotes(jobs.filter { !endKnown($0) }).forEachGroup(of: { $0.downloader }) { jobs in
            let orders = jobs.compactMap { job -> (order: DownloadOrder, waiter: any WorkWaiter)? in
                if job.isCancelled { return nil }
                switch job.retrieval.source {
                case .network(let resource):
                    let order = DownloadOrder(job, resource.downloadURL)
                    if job.downloader.rests(job, for: order) { return nil }
                    job.countAttempts(1)
                    return (order, job)
                case .provider(let provider):
                    ProviderRead.join(job, provider, &reads)
                    return nil
                }
            }
            jobs[0].downloader.download(orders)
        }
        StoreWorkers.shared.add(reads)
    }

    /// Continues with the answer of a source. `work` is what the job shared with others.
    func take(
        _ answer: Result<DownloadAnswer, KingfisherError>, of work: WorkKey?, _ job: ImageJob, _ turn: inout Turn
    ) {
        let (retrieval, asking) = job.state.withLock { ($0.retrieval, $0.asking) }
        let failed = { (error: KingfisherError) in Failure(error: error, work: work, asking: asking) }
        switch answer {
        case .success(.image(let image)):
            forgetAnswer(asking.answer, retrieval)
            job.note(.source)
            do throws(KingfisherError) {
                // The filter has not judged the images of a remote before.
                if image.response == nil, let refusal = retrieval.refusal(of: image.originalMeasures) {
                    return fail(job, refusal, &turn)
                }
                try image.check(retrieval.pin)
                finish(image, job, &turn)
            } catch {
                if image.entry == nil { return failedSource(job, failed(error), &turn) }
                // A remote that lies is as good as one that has nothing.
                job.state.withLock { $0.replacesInRemote = true }
                missed(job, &turn)
            }
        case .success(.unchanged(let response, let flight, let renewals)):
            forgetAnswer(asking.answer, retrieval)
            guard let stale = asking.stale else {
                return fail(job, .responseError(reason: .invalidHTTPStatusCode(response.status)), &turn)
            }
            guard response.confirms(stale.entry.etag, stale.entry.lastModified) else {
                return askWhole(job, asking, &turn)
            }
            renew(stale, asking, job, response, flight, in: renewals, &turn)
        case .success(.stored):
            // The image was stored while this job waited for its turn. Without work it has joined nothing, and no request was made.
            if work == nil, !retrieval.isLocal { job.countAttempts(-1) }
            job.state.withLock { $0.timesStored += 1 }
            lookUpAgain(job)
        case .success(.absent(let isDamaged)):
            job.state.withLock { $0.replacesInRemote = isDamaged }
            missed(job, &turn)
        case .success(.imported(let members)):
            job.state.withLock { $0.membersInRemote = members }
            lookUpAgain(job)
        case .success(.refused(let error, let response, let flight, let isPersonal)):
            var failure = failed(error)
            if !isPersonal { (failure.refusal, failure.flight) = (response, flight) }
            failedSource(job, failure, &turn)
        case .failure(let error): failedSource(job, failed(error), &turn)
        }
    }

    /// Ends a job for whose image the run has already asked, unless a cache has it. Returns false for any other.
    private func endKnown(_ job: ImageJob) -> Bool {
        let retrieval = job.retrieval
        guard let answers = retrieval.options.answers else { return false }
        if let error = answers.sourceFailure(of: retrieval) {
            let failure = Failure(error: error, asking: job.asking)
            Turn.run { if job.endsAfterRemotes { $0.end(job, .failure(error)) } else { giveUp(job, failure, &$0) } }
            return true
        }
        let wanted = job.makesVariants ? job.variants : [retrieval]
        let known = wanted.compactMap { wanted in answers.answer(to: wanted)?.map { $0.known(to: wanted) } }
        guard known.count == wanted.count, let first = known.first else { return false }
        if job.makesVariants { job.state.withLock { $0.results = known } }
        Turn.run { turn in
            if case .failure(let error) = first, !job.makesVariants { return fail(job, error, &turn) }
            turn.end(job, first)
        }
        return true
    }

    private func lookUpAgain(_ job: ImageJob) {
        if job.enter(.looking) { lookUp([job]) }
    }

    /// The failure of a source.
    private struct Failure: Sendable {
        let error: KingfisherError
        /// The response without an image, if it may be remembered, and the claim that keeps other processes from requesting
        /// the key until it is.
        var refusal: ResponseFacts?
        var flight: FlightHold?
        /// The work that the job shared with others.
        var work: WorkKey?
        let asking: Asking
    }

    /// Handles a failed source: the retry strategy decides first, then a stale entry may serve, then the next source is
    /// tried.
    private func failedSource(_ job: ImageJob, _ failure: Failure, _ turn: inout Turn) {
        if !failure.error.isCancellation, !failure.error.isCacheFailure, !failure.error.isLeftOut,
            let mirror = failure.asking.mirror(of: job.retrieval)
        {
            job.retrieval.options.request.onMirrorFailure?(mirror, failure.error)
            var next = failure.asking
            next.failedMirrors += 1
            if job.enter(.fetching(next)) { turn.jobs.append(job) }
            return
        }
        guard !failure.error.isCancellation, let strategy = job.retrieval.options.retryStrategy else {
            return settle(job, .stop, failure, &turn)
        }
        let context = Self.context(job, failure.error)
        // This strategy never waits, so a list with many failures creates no tasks.
        if let strategy = strategy as? DelayRetryStrategy {
            return settle(job, strategy.decide(context), failure, &turn)
        }
        job.decide({ await strategy.decide(context) }) { [self] decision in
            Turn.run { settle(job, decision, failure, &$0) }
        }
    }

    private func settle(_ job: ImageJob, _ decision: RetryDecision, _ failure: Failure, _ turn: inout Turn) {
        let retrieval = job.retrieval
        if case .retry(let delay) = decision {
            let rest = failure.refusal.flatMap {
                RetryAfter.rest(status: $0.status, value: $0.header("retry-after"))
            }
            retrieval.options.retryStrategy?.willRetry(
                Self.context(job, failure.error), after: max(delay, rest ?? .zero))
            job.state.withLock { $0.retried += 1 }
            var again = failure.asking
            (again.failedMirrors, again.moment) = (0, nil)
            guard job.enter(.fetching(again)) else { return }
            return turn.rests.append(RestQueue.Wish(job: job, span: delay, work: failure.work))
        }
        retrieval.options.answers?.note(sourceFailure: failure.error, of: retrieval)
        guard let refusal = failure.refusal,
            let answer = answerOrder(refusal, failure.error, retrieval, replacing: failure.asking.answer)
        else { return giveUp(job, failure, &turn) }
        // A list counts its failures while it runs, and closing the cache commits what is queued. Waiting for the
        // commit made a limit of 3 failures end after 180 requests instead of 9.
        let waits = !retrieval.options.batchesStores
        let kept = StoreOrder(answer, to: retrieval.originals) { [self] _ in
            withExtendedLifetime(failure.flight) {
                if waits { Turn.run { giveUp(job, failure, &$0) } }
            }
        }
        retrieval.originals.submit([[kept]], urgent: waits)
        if !waits { giveUp(job, failure, &turn) }
    }

    private static func context(_ job: ImageJob, _ error: KingfisherError) -> RetryContext {
        job.state.withLock { state in
            let userInfo = state.userInfo ?? RetryUserInfo()
            state.userInfo = userInfo
            return RetryContext(
                source: state.retrieval.source, error: error, retriedCount: state.retried, userInfo: userInfo)
        }
    }

    private func giveUp(_ job: ImageJob, _ failure: Failure, _ turn: inout Turn) {
        guard let stale = failure.asking.stale, failure.error.isOriginUnavailable else {
            return fail(job, failure.error, &turn)
        }
        if job.makesVariants { return serveVariants(job, stale, failure.error) }
        guard job.retrieval.mayServeStale(stale.entry, now: cache.now) else { return fail(job, failure.error, &turn) }
        serve(job, stale, .failure(failure.error), &turn)
    }

    /// Tries the next alternative source, or ends the job when all have failed.
    func fail(_ job: ImageJob, _ error: KingfisherError, _ turn: inout Turn) {
        let alternatives = job.asked.options.alternativeSources
        // No alternative replaces a cancelled request or an image that was left out, and a broken cache fails every source.
        if error.isCancellation || error.isCacheFailure || error.isLeftOut || alternatives.isEmpty {
            return turn.end(job, .failure(error))
        }
        let errors = job.state.withLock { state in
            state.errors.append(PropagationError(source: state.retrieval.source, error: error))
            return state.errors
        }
        guard errors.count <= alternatives.count else {
            return turn.end(job, .failure(.sourceError(reason: .alternativeSourcesExhausted(errors))))
        }
        let source = alternatives[errors.count - 1]
        start(job, with: source, job.asked.options.request.asking(source, insteadOf: job.asked.source))
    }

    /// Processes the body as requested, and orders the stores of original and result.
    private func finish(_ image: DownloadedImage, _ job: ImageJob, _ turn: inout Turn) {
        let before = job.retrieval
        let retrieval = (image.isKept ? before : before.unstored).placed(by: image.response)
        let asking = job.state.withLock { state in
            state.retrieval = retrieval
            return state.asking
        }
        let origin =
            image.entry.map { retrieval.origin(of: $0) }
            ?? image.response.map { OriginFacts($0, retrieval, now: cache.now) }
        var ending = ImageEnding(
            retrieval, asked: job.asked, image.way,
            .bytes(image.bytes, image.format, image.info.map(PixelFacts.init)), origin: origin)
        ending.flight = image.flight
        ending.arrived = cache.now
        ending.facts.isPersonal = image.isPersonal
        ending.facts.response = image.response
        ending.facts.attempts = job.attempts
        ending.facts.reason = FetchReason(before, asking)
        if retrieval.options.notesOriginal, image.isOriginal {
            ending.facts.original = bestEffort { try image.digest(stored: nil) }
            ending.facts.originalBytes = image.bytes.size
        }
        ending.facts.measures = image.originalMeasures
        ending.facts.check = image.findings.extent
        ending.facts.warn(image.findings.warnings)
        if job.makesVariants { return makeVariants(of: image, ending, job, &turn) }
        let delegate = job.downloader.delegate
        if retrieval.wantsOriginal || retrieval.keepsBytes(of: image.format) || !image.isOriginal {
            if let delegate { image.tell(delegate, retrieval.options.processing) }
            return store(ending, of: image, in: image.stores, job, &turn)
        }
        if let made = sameResult(of: image, retrieval) {
            return store(ImageEnding(madeBefore: made, ending), of: image, in: image.stores, job, &turn)
        }
        orderOriginal(of: image, &ending, job, &turn)
        guard job.enter(.making(.body(ending))) else { return }
        ImageMaking.join(
            job, in: downloader.work,
            MakeKey(
                original: .downloaded(ObjectIdentifier(image)), target: retrieval.target,
                cache: ObjectIdentifier(retrieval.cache)),
            ImageMaking.Order(original: .downloaded(image), box: retrieval.box, told: image.telling(delegate))
        ) { StoreWorkers.makers.add([$0]) }
    }

    /// Continues with the outcome of a processor.
    func take(
        _ result: Result<ProcessedImage, KingfisherError>, as made: MadeImage, _ job: ImageJob, _ turn: inout Turn
    ) {
        guard case .making(let making) = job.stage else { return }
        job.note(.image)
        var ending =
            switch making {
            case .body(let ending): ending
            case .file(let derivation): self.ending(job, derivation)
            }
        switch (result, making) {
        case (.success(let processed), _):
            ending.content = .processed(processed)
            ending.facts.warn(processed.warnings)
            if processed.warnings.contains(where: \.isDamage) { ending.retrieval = ending.retrieval.unstored }
            store(ending, of: made.downloaded, in: made.stores, job, &turn)
        case (.failure(.processorError), .file(let derivation)) where isDamaged(derivation.file, job.retrieval):
            undecodable(job, derivation, &turn)
        case (.failure(let error), _):
            job.retrieval.options.answers?.note(makingFailure: error, of: job.retrieval)
            fail(job, error, &turn)
        }
    }

    // MARK: Making images from cached files

    /// Makes the image from a cached file, or joins equal work in flight.
    func derive(_ job: ImageJob, _ derivation: Derivation) {
        guard job.enter(.making(.file(derivation))) else { return }
        let entry = derivation.file.entry
        let retrieval = derivation.keeps ? job.retrieval : job.retrieval.unstored
        if job.makesVariants || retrieval.keepsBytes(of: entry.format) {
            let reading = WorkerTask { [self] turn in if !job.isCancelled { takeFile(derivation, job, &turn) } }
            return StoreWorkers.makers.add([reading])
        }
        ImageMaking.join(
            job, in: downloader.work,
            MakeKey(
                original: .stored(entry.object.digest), target: retrieval.target,
                cache: ObjectIdentifier(retrieval.cache), limits: retrieval.options.decodeLimits),
            ImageMaking.Order(original: .file(derivation.file), box: retrieval.box)
        ) { StoreWorkers.makers.add([$0]) }
    }

    func ending(_ job: ImageJob, _ derivation: Derivation) -> ImageEnding {
        let retrieval = derivation.keeps ? job.retrieval : job.retrieval.unstored
        var ending = ImageEnding(
            retrieval, asked: job.asked, derivation.way, .file(derivation.file),
            origin: retrieval.isLocal ? nil : OriginFacts(derivation.file.entry))
        ending.derivation = derivation
        ending.isOfHashedBytes = derivation.isHashed
        if retrieval.options.notesOriginal, derivation.file.entry.key.isOriginal {
            (ending.facts.original, ending.facts.originalBytes) = (derivation.digest, derivation.file.size)
        }
        ending.facts.measures = derivation.file.entry.originalMeasures
        ending.facts.attempts = job.attempts
        ending.facts.response = derivation.response
        if let problem = derivation.problem { ending.facts.storing.disk = .failed(problem) }
        return ending
    }

    /// Reads the file, whose bytes are the requested image or the original of several.
    private func takeFile(_ derivation: Derivation, _ job: ImageJob, _ turn: inout Turn) {
        var ending = ending(job, derivation)
        let entry = derivation.file.entry
        do throws(KingfisherError) {
            if job.makesVariants { return try makeVariants(of: derivation, ending, job, &turn) }
            ending.content = .bytes(.memory(try derivation.file.readAll()), entry.format, entry.object.pixels)
            store(ending, job, &turn)
        } catch {
            fail(job, error, &turn)
        }
    }

    /// Removes a cached file that cannot be decoded, and fetches it again if the job allows that.
    func undecodable(_ job: ImageJob, _ derivation: Derivation, _ turn: inout Turn) {
        let entry = derivation.file.entry
        // If the removal fails, the next look-up finds the file and fetches it again.
        bestEffort { try job.retrieval.originals.removeDamagedNow(entry.key) { $0.object == entry.object } }
        switch derivation.otherwise {
        case .failure(let error): fail(job, error, &turn)
        case .success(let asking): if job.enter(.fetching(asking)) { turn.jobs.append(job) }
        }
    }

    private func isDamaged(_ file: CachedFile, _ retrieval: Retrieval) -> Bool {
        let read = Result { () throws(KingfisherError) in try file.readAll() }
        guard case .success(let bytes) = read else { return true }
        let inspection = bytes.withUnsafeBytes { bytes in
            Result { () throws(KingfisherError) in try retrieval.box.inspector.inspect(bytes) }
        }
        if case .failure(let error) = inspection { return error.isDamage }
        return false
    }
}

extension PixelFacts {
    package init(_ info: ImageInfo) { self.init(width: info.width, height: info.height, frames: info.frames) }

    init(_ made: ProcessedImage) {
        self.init(width: made.image.width, height: made.image.height, frames: made.frames)
    }
}
