import KFStorage

/// Images whose time is over: their origin is asked, and says that nothing has changed or sends the new image. When it
/// cannot be asked, the old one may have to do.
extension KingfisherManager {
    /// Gives out an image past its time, if the options and its server allow that. Otherwise false, and nothing is done.
    func serveStale(
        _ job: ImageJob, _ stale: FoundFile?, _ otherwise: Derivation.Otherwise, _ deliveries: inout Deliveries
    ) -> Bool {
        guard let stale, job.retrieval.mayServeStale(stale.file.entry, now: cache.now) else { return false }
        serve(job, stale, otherwise, &deliveries)
        return true
    }

    /// Gives out an image past its time at once, if its server allows that while it is asked again; that happens meanwhile.
    func serveWhileRevalidating(
        _ job: ImageJob, _ stale: FoundFile?, _ otherwise: Derivation.Otherwise, _ deliveries: inout Deliveries
    ) -> Bool {
        let retrieval = job.retrieval
        guard let stale, !retrieval.options.onlyFromCache,
            retrieval.servesWhileRevalidating(stale.file.entry, now: cache.now)
        else { return false }
        serve(job, stale, otherwise, &deliveries)
        let isNew = revalidating.withLock { $0.insert(retrieval.target).inserted }
        guard isNew else { return true }
        var again = retrieval.with { options in
            // The image has been given out: a failure costs nothing, and the next retrieval asks again.
            options.retryStrategy = nil
            options.staleIfError = nil
            options.alternativeSources = []
            options.waitForCache = true
            // Nobody watches.
            options.progress = nil
            options.progressiveJPEG = nil
            options.request.onDataReceived = nil
        }
        again.served = stale
        let renewing = ImageJob(self, again, for: RenewalEnd(self, retrieval.target))
        renewing.background = background.begin()
        renewing.hasLooked = true
        lookUp([renewing])
        return true
    }

    private func serve(
        _ job: ImageJob, _ stale: FoundFile, _ otherwise: Derivation.Otherwise, _ deliveries: inout Deliveries
    ) {
        if job.variants.isEmpty, stale.file.entry.key == job.retrieval.target {
            let outcome = RetrievalOutcome(job.retrieval, asked: job.asked).by(.stale)
            return deliveries.add(job, .success(outcome.result(.stale, stale.file)))
        }
        // Stored, it would count as fresh.
        derive(job, Derivation(file: stale.file, way: .stale, keeps: false, otherwise: otherwise))
    }

    /// The origin has confirmed what is cached.
    func renew(
        _ stale: FoundFile, _ job: ImageJob, _ response: ResponseFacts, _ flight: FlightHold?, _ batch: StoreBatch
    ) {
        let retrieval = job.retrieval
        let entry = stale.file.entry
        let isTarget = entry.key == retrieval.target
        let origin = OriginFacts(response, confirming: entry)
        var renewal = retrieval.renewal(by: origin, now: cache.now)
        renewal.etag = response.etag
        renewal.lastModified = response.lastModified
        renewal.freshness = retrieval.freshness(of: origin)
        var outcome = RetrievalOutcome(retrieval, asked: job.asked).by(.revalidated)
        outcome.response = response
        outcome.attempts = job.attempts
        let ending = ImageEnding(
            retrieval: retrieval, outcome: outcome, content: .file(stale.file), origin: origin, flight: flight)
        let place = isTarget ? retrieval.cache : retrieval.originals
        guard let storage = place.alreadyOpen, !storage.isReadOnly else {
            return giveRenewed(job, ending, stale.file, nil, &batch.deliveries)
        }
        do throws(KingfisherError) {
            let others = retrieval.keysOnDisk.filter { $0 != entry.key }
            let order = StoreOrder(.renew(try place.entries(confirmedWith: entry, among: others), renewal))
            ending.renewal = order
            job.ending = ending
            batch.add([order], to: place, urgent: !retrieval.options.batchesStores)
            job.wait(for: [order], &batch.deliveries)
        } catch {
            giveRenewed(job, ending, stale.file, error, &batch.deliveries)
        }
    }

    /// The confirmation has been written down, or not.
    func conclude(renewal: StoreOrder, _ ending: ImageEnding, _ job: ImageJob, _ deliveries: inout Deliveries) {
        guard case .file(let file) = ending.content else { return }
        switch renewal.outcome {
        case .success(nil)?, nil:
            // What the answer confirms is not there any more.
            job.isUnconditional = true
            fetch([job])
        case .success(_?)?: giveRenewed(job, ending, file, nil, &deliveries)
        case .failure(let error)?: giveRenewed(job, ending, file, error, &deliveries)
        }
    }

    /// A confirmation that could not be written down does not make the image wrong; who asked for it is told.
    private func giveRenewed(
        _ job: ImageJob, _ ending: ImageEnding, _ file: CachedFile, _ problem: KingfisherError?,
        _ deliveries: inout Deliveries
    ) {
        var outcome = ending.outcome
        if let problem { outcome.storing.disk = .failed(problem) }
        if job.variants.isEmpty, file.entry.key == ending.retrieval.target {
            return deliveries.add(job, .success(outcome.result(.revalidated, file)))
        }
        derive(
            job,
            Derivation(
                file: file, way: .revalidated, response: outcome.response, problem: problem,
                otherwise: .fetch(stale: nil, commitsSeen: nil)))
    }
}

/// Nobody waits for an image that is asked for again after it has been given out.
private final class RenewalEnd: ImageRecipient {
    private let manager: KingfisherManager
    private let key: EntryKey

    init(_ manager: KingfisherManager, _ key: EntryKey) {
        self.manager = manager
        self.key = key
    }

    func take(_ ended: [EndedImage]) { manager.revalidating.withLock { _ = $0.remove(key) } }
}
