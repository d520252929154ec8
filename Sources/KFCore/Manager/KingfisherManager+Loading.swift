import KFImaging
import KFStorage

/// The later stages of a miss: fetching from the source, and making the requested image.
extension KingfisherManager {
    /// Fetches from the sources, after the remotes. Equal requests share one transfer (single flight).
    func fetch(_ jobs: [ImageJob]) {
        let jobs = askRemotes(jobs)
        guard !jobs.isEmpty else { return }
        var orders: [(downloader: ImageDownloader, order: DownloadOrder, waiter: any WorkWaiter)] = []
        orders.reserveCapacity(jobs.count)
        var reads: [any StoreWork] = []
        for job in jobs where !job.isCancelled {
            switch job.retrieval.source {
            case .network(let resource):
                job.countAttempts(1)
                orders.append((job.downloader, order(job, resource.downloadURL), job))
            case .provider(let provider):
                ProviderRead.join(job, provider, &reads)
            }
        }
        StoreWorkers.shared.add(reads)
        // There is nearly always only one downloader.
        var rest = orders[...]
        while let downloader = rest.first?.downloader {
            downloader.download(rest.filter { $0.downloader === downloader }.map { ($0.order, $0.waiter) })
            rest = rest.filter { $0.downloader !== downloader }[...]
        }
    }

    private func order(_ job: ImageJob, _ url: RequestURL) -> DownloadOrder {
        let downloader = job.downloader
        return DownloadOrder(
            url: url, terms: job.retrieval.box.download, condition: job.condition, isRetry: job.retried > 0,
            tap: job.retrieval.tap,
            place: job.retrieval.place(job.commitsSeen), delegate: downloader.delegate,
            responder: downloader.authenticationChallengeResponder)
    }

    /// Continues with the answer of a source.
    func take(_ answer: Result<DownloadAnswer, KingfisherError>, _ job: ImageJob, _ batch: StoreBatch) {
        if job.isCancelled { return }
        switch answer {
        case .success(.image(let image)):
            forgetAnswer(job.retrieval)
            finish(image, job, batch)
        case .success(.unchanged(let response, let flight)):
            forgetAnswer(job.retrieval)
            guard let stale = job.stale else {
                return fail(job, .responseError(reason: .invalidHTTPStatusCode(response.status)), &batch.deliveries)
            }
            renew(stale, job, response, flight, batch)
        case .success(.stored):
            // Another process has stored the image while this one waited for its turn.
            if !job.retrieval.isLocal { job.countAttempts(-1) }
            job.timesStored += 1
            lookUp([job])
        case .success(.absent(let isDamaged)):
            job.replacesInRemote = isDamaged
            missed(job, batch)
        case .success(.imported(let members)):
            job.membersInRemote = members
            lookUp([job])
        case .success(.refused(let response, let isPersonal)):
            failedSource(
                job, .responseError(reason: .invalidHTTPStatusCode(response.status)),
                refusal: isPersonal ? nil : response, &batch.deliveries)
        case .failure(let error): failedSource(job, error, refusal: nil, &batch.deliveries)
        }
    }

    /// Handles a failed source: the retry strategy decides first, then a stale entry may serve, then the next source is
    /// tried.
    private func failedSource(
        _ job: ImageJob, _ error: KingfisherError, refusal: ResponseFacts?, _ deliveries: inout Deliveries
    ) {
        guard !error.isCancellation, let strategy = job.retrieval.options.retryStrategy else {
            return settle(job, .stop, error, refusal, &deliveries)
        }
        let context = Self.context(job, error)
        // This strategy never waits, so a list with many failures creates no tasks.
        if let strategy = strategy as? DelayRetryStrategy {
            return settle(job, strategy.decide(context), error, refusal, &deliveries)
        }
        job.decide({ await strategy.decide(context) }) { [self] decision in
            var deliveries = Deliveries()
            settle(job, decision, error, refusal, &deliveries)
            deliveries.flush()
        }
    }

    private func settle(
        _ job: ImageJob, _ decision: RetryDecision, _ error: KingfisherError, _ refusal: ResponseFacts?,
        _ deliveries: inout Deliveries
    ) {
        if case .retry(let delay) = decision {
            let rest = refusal.flatMap { RetryAfter.rest(status: $0.status, value: $0.header("retry-after")) }
            job.retrieval.options.retryStrategy?.willRetry(Self.context(job, error), after: max(delay, rest ?? .zero))
            job.retried += 1
            job.arrive()
            return deliveries.rest(
                in: job.downloader.rests, RestQueue.Wish(job: job, span: delay, work: job.failed))
        }
        if let refusal, let order = answerOrder(refusal, job.retrieval) {
            // A list counts its failures while it runs, and closing the cache commits what is queued. Waiting for the
            // commit made a limit of 3 failures end after 180 requests instead of 9.
            if job.retrieval.options.batchesStores {
                job.retrieval.originals.submit([[StoreOrder(order) { _ in }]], urgent: false)
                return giveUp(job, error, &deliveries)
            }
            let kept = StoreOrder(order) { [self] _ in
                var deliveries = Deliveries()
                giveUp(job, error, &deliveries)
                deliveries.flush()
            }
            return job.retrieval.originals.submit([[kept]], urgent: !job.retrieval.options.batchesStores)
        }
        giveUp(job, error, &deliveries)
    }

    private static func context(_ job: ImageJob, _ error: KingfisherError) -> RetryContext {
        RetryContext(source: job.retrieval.source, error: error, retriedCount: job.retried, userInfo: job.userInfo)
    }

    private func giveUp(_ job: ImageJob, _ error: KingfisherError, _ deliveries: inout Deliveries) {
        if let stale = job.stale, error.isOriginUnavailable,
            serveStale(job, stale, .fail(error), &deliveries)
        {
            return
        }
        fail(job, error, &deliveries)
    }

    /// Tries the next alternative source, or ends the job when all have failed.
    func fail(_ job: ImageJob, _ error: KingfisherError, _ deliveries: inout Deliveries) {
        let alternatives = job.asked.options.alternativeSources
        // No alternative replaces a cancelled request, and a broken cache fails every source.
        if error.isCancellation || error.isCacheFailure || alternatives.isEmpty {
            return deliveries.add(job, .failure(error))
        }
        job.errors.append(PropagationError(source: job.retrieval.source, error: error))
        guard job.alternatives < alternatives.count else {
            return deliveries.add(
                job, .failure(.sourceError(reason: .alternativeSourcesExhausted(job.errors))))
        }
        let source = alternatives[job.alternatives]
        job.alternatives += 1
        start(job, with: source, job.asked.options.request.asking(source, insteadOf: job.asked.source))
    }

    /// Processes the body as requested, and orders the stores of original and result.
    private func finish(_ image: DownloadedImage, _ job: ImageJob, _ batch: StoreBatch) {
        let retrieval = (image.isPersonal ? job.retrieval.unstored : job.retrieval).placed(by: image.response)
        let origin =
            image.entry.map { retrieval.origin(of: $0) }
            ?? image.response.map { OriginFacts($0, retrieval, now: cache.now) }
        let ending = ImageEnding(
            retrieval, asked: job.asked, image.entry == nil ? .fetched : .remote,
            .bytes(image.bytes, image.format, image.info.map(PixelFacts.init)), origin: origin, flight: image.flight)
        ending.facts.isPersonal = image.isPersonal
        ending.facts.response = image.response
        ending.facts.attempts = job.attempts
        ending.facts.check = image.findings.extent
        ending.facts.warn(image.findings.warnings)
        (job.retrieval, job.ending) = (retrieval, ending)
        if !job.variants.isEmpty { return finishVariants(image, job, batch) }
        if let entry = image.entry, entry.original != nil { return finishMade(image, entry, job, batch) }
        if retrieval.wantsOriginal || retrieval.keepsBytes(of: image.format) {
            return finishUntouched(image, job, retrieval, batch)
        }
        ImageMaking.join(
            job, in: downloader.work,
            MakeKey(
                of: .downloaded(ObjectIdentifier(image)), target: retrieval.target,
                cache: ObjectIdentifier(retrieval.cache)),
            ImageMaking.Order(
                of: .downloaded(image), retrieval.box, told: image.telling(job.downloader.delegate)), batch)
    }

    private func finishUntouched(
        _ image: DownloadedImage, _ job: ImageJob, _ retrieval: Retrieval, _ batch: StoreBatch
    ) {
        guard let ending = job.ending else { return }
        if let delegate = job.downloader.delegate { image.tell(delegate, retrieval.options.processing) }
        beginStoring(job, ending, &batch.deliveries)
        var group: [StoreOrder] = []
        keepOriginal(image, job, ending, &group)
        let origin = ending.origin
        if !retrieval.wantsOriginal {
            keepTarget(image.bytes, retrieval, ending, image.orders, &group) { now in
                retrieval.facts(
                    format: image.format, pixels: image.info.map(PixelFacts.init), origin: origin,
                    original: nil, now: now)
            }
        }
        job.ending = ending
        submit(group, job, retrieval, batch)
    }

    /// Stores a processed image that a remote had.
    private func finishMade(_ image: DownloadedImage, _ entry: RemoteEntry, _ job: ImageJob, _ batch: StoreBatch) {
        guard let ending = job.ending else { return }
        let retrieval = ending.retrieval
        beginStoring(job, ending, &batch.deliveries)
        var group: [StoreOrder] = []
        let origin = ending.origin
        keepTarget(image.bytes, retrieval, ending, image.orders, &group) { now in
            retrieval.facts(
                format: image.format, pixels: image.info.map(PixelFacts.init), origin: origin,
                original: entry.original, now: now)
        }
        job.ending = ending
        submit(group, job, retrieval, batch)
    }

    /// Continues with the outcome of a processor.
    func take(
        _ result: Result<ProcessedImage, KingfisherError>, as made: MadeImage, _ job: ImageJob, _ batch: StoreBatch
    ) {
        if let derivation = job.derivation { return derived(result, made.orders, derivation, job, batch) }
        guard let ending = job.ending, let image = made.downloaded else { return }
        let retrieval = ending.retrieval
        var group: [StoreOrder] = []
        switch result {
        case .failure(let error):
            // The original is kept even if processing fails.
            keepOriginal(image, job, ending, &group)
            if !group.isEmpty { batch.add(group, to: retrieval.originals, urgent: !retrieval.options.batchesStores) }
            fail(job, error, &batch.deliveries)
        case .success(let processed):
            ending.content = .processed(processed)
            ending.facts.warn(processed.warnings)
            beginStoring(job, ending, &batch.deliveries)
            keepOriginal(image, job, ending, &group)
            keepMade(
                processed, retrieval, ending, made.orders, &group,
                original: { ending throws(KingfisherError) in
                    try digest(of: image.bytes, stored: ending.originalOrder)
                })
            job.ending = ending
            submit(group, job, retrieval, batch)
        }
    }

    /// Returns the digest of the bytes, without hashing them again if their order has it.
    func digest(of bytes: PendingBytes, stored order: StoreOrder?) throws(KingfisherError) -> Digest {
        if let digest = order?.change.digest { return digest }
        return try bytes.digest()
    }

    // MARK: Making images from cached files

    /// Makes the image from a cached file, or joins equal work in flight.
    func derive(_ job: ImageJob, _ derivation: Derivation, _ batch: StoreBatch? = nil) {
        job.derivation = derivation
        let format = derivation.file.entry.format
        let retrieval = derivation.keeps ? job.retrieval : job.retrieval.unstored
        if !job.variants.isEmpty || retrieval.keepsBytes(of: format) {
            let work = DerivedWork(job, self)
            if let batch { work.run(in: batch) } else { StoreWorkers.shared.add([work]) }
            return
        }
        ImageMaking.join(
            job, in: downloader.work,
            MakeKey(
                of: .stored(derivation.file.entry.object.digest), target: retrieval.target,
                cache: ObjectIdentifier(retrieval.cache), limits: retrieval.options.decodeLimits),
            ImageMaking.Order(of: .file(derivation.file), retrieval.box), nil)
    }

    private func ending(_ job: ImageJob, _ derivation: Derivation) -> ImageEnding {
        let retrieval = derivation.keeps ? job.retrieval : job.retrieval.unstored
        let ending = ImageEnding(
            retrieval, asked: job.asked, derivation.way, .file(derivation.file),
            origin: retrieval.isLocal ? nil : OriginFacts(derivation.file.entry))
        ending.facts.attempts = job.attempts
        ending.facts.response = derivation.response
        if let problem = derivation.problem { ending.facts.storing.disk = .failed(problem) }
        return ending
    }

    /// Reads the file, whose bytes are the requested image or the original of several variants.
    fileprivate func takeFile(_ job: ImageJob, _ batch: StoreBatch) {
        guard let derivation = job.derivation else { return }
        let ending = ending(job, derivation)
        let entry = derivation.file.entry
        do throws(KingfisherError) {
            let read = try derivation.file.readAll()
            if !job.variants.isEmpty {
                job.ending = ending
                return finishVariants(read, entry, job, batch)
            }
            let bytes = PendingBytes.memory(read)
            ending.content = .bytes(bytes, entry.format, entry.object.pixels)
            beginStoring(job, ending, &batch.deliveries)
            let retrieval = ending.retrieval
            var group: [StoreOrder] = []
            let origin = ending.origin
            keepTarget(bytes, retrieval, ending, nil, &group) { now in
                retrieval.facts(
                    format: entry.format, pixels: entry.object.pixels, origin: origin, original: nil, now: now)
            }
            job.ending = ending
            submit(group, job, retrieval, batch)
        } catch {
            fail(job, error, &batch.deliveries)
        }
    }

    private func derived(
        _ result: Result<ProcessedImage, KingfisherError>, _ orders: OrderBook, _ derivation: Derivation,
        _ job: ImageJob, _ batch: StoreBatch
    ) {
        switch result {
        case .success(let made):
            let ending = ending(job, derivation)
            ending.content = .processed(made)
            ending.facts.warn(made.warnings)
            beginStoring(job, ending, &batch.deliveries)
            var group: [StoreOrder] = []
            keepMade(made, ending.retrieval, ending, orders, &group) { _ in
                derivation.file.entry.object.digest
            }
            job.ending = ending
            submit(group, job, ending.retrieval, batch)
        case .failure(let error):
            guard case .processorError = error, isDamaged(derivation.file, job.retrieval) else {
                return fail(job, error, &batch.deliveries)
            }
            undecodable(job, derivation, &batch.deliveries)
        }
    }

    /// Removes a cached file that cannot be decoded, and fetches it again if the job allows that.
    func undecodable(_ job: ImageJob, _ derivation: Derivation, _ deliveries: inout Deliveries) {
        job.derivation = nil
        let entry = derivation.file.entry
        // If the removal fails, the next look-up finds the file and fetches it again.
        bestEffort { try job.retrieval.originals.removeDamagedNow(entry.key) { $0.object == entry.object } }
        switch derivation.otherwise {
        case .fail(let error): fail(job, error, &deliveries)
        case .fetch(let stale, let commits):
            job.stale = stale
            job.commitsSeen = commits
            fetch([job])
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

/// A worker's task that reads a cached file for a job.
private final class DerivedWork: StoreWork {
    private let job: ImageJob
    private let manager: KingfisherManager

    init(_ job: ImageJob, _ manager: KingfisherManager) {
        self.job = job
        self.manager = manager
    }

    func run(in batch: StoreBatch) {
        if !job.isCancelled { manager.takeFile(job, batch) }
    }
}

extension PixelFacts {
    init(_ info: ImageInfo) { self.init(width: info.width, height: info.height, frames: info.frames) }

    init(_ made: ProcessedImage) {
        self.init(
            width: made.image.width, height: made.image.height,
            frames: made.format.supportsAnimation ? made.image.frames.count : 1)
    }
}
