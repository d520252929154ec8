import KFStorage

/// Stale images: their origin confirms them or sends new ones. If the origin is unavailable, a stale image may serve.
extension KingfisherManager {
    /// Serves a stale image if the options and its server allow that. Otherwise returns false and does nothing.
    func serveStale(
        _ job: ImageJob, _ stale: FoundFile?, _ otherwise: Derivation.Otherwise, _ deliveries: inout Deliveries
    ) -> Bool {
        guard let stale, job.retrieval.mayServeStale(stale.file.entry, now: cache.now) else { return false }
        serve(job, stale, otherwise, &deliveries)
        return true
    }

    /// Serves a stale image at once, and revalidates it in the background.
    func serveWhileRevalidating(
        _ job: ImageJob, _ stale: FoundFile, _ otherwise: Derivation.Otherwise, _ deliveries: inout Deliveries
    ) {
        let retrieval = job.retrieval
        serve(job, stale, otherwise, &deliveries)
        let isNew = revalidating.withLock { $0.insert(retrieval.target).inserted }
        guard isNew else { return }
        let again = retrieval.with { options in
            // The image has been delivered. A failure costs nothing, and the next retrieval revalidates again.
            options.retryStrategy = nil
            options.staleIfError = nil
            options.alternativeSources = []
            options.waitForCache = true
            // No caller observes this transfer.
            options.progress = nil
            options.progressiveJPEG = nil
            options.request.onDataReceived = nil
        }
        let renewing = ImageJob(self, again, for: RenewalEnd(self, retrieval.target))
        renewing.served = stale
        renewing.background = background.begin()
        renewing.hasLooked = true
        lookUp([renewing])
    }

    func serve(
        _ job: ImageJob, _ stale: FoundFile, _ otherwise: Derivation.Otherwise, _ deliveries: inout Deliveries
    ) {
        if job.variants.isEmpty, stale.file.entry.key == job.retrieval.target {
            return deliveries.add(job, .success(job.retrieval.result(.stale, stale.file, asked: job.asked)))
        }
        // The result must not be stored, because it would count as fresh.
        derive(job, Derivation(file: stale.file, way: .stale, keeps: false, otherwise: otherwise))
    }

    /// Renews the entry that the origin has confirmed with a 304.
    func renew(
        _ stale: FoundFile, _ job: ImageJob, _ response: ResponseFacts, _ flight: FlightHold?, _ batch: StoreBatch
    ) {
        let retrieval = job.retrieval
        let entry = stale.file.entry
        let origin = OriginFacts(response, confirming: entry, retrieval, now: cache.now)
        var renewal = retrieval.renewal(by: origin, now: cache.now)
        renewal.etag = response.etag
        renewal.lastModified = response.lastModified
        renewal.freshness = retrieval.freshness(of: origin)
        let ending = ImageEnding(
            retrieval, asked: job.asked, .revalidated, .file(stale.file), origin: origin, flight: flight)
        ending.facts.response = response
        ending.facts.attempts = job.attempts
        let place = stale.cache
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

    /// Continues when the renewal has been written to the index, or has failed.
    func conclude(renewal: StoreOrder, _ ending: ImageEnding, _ job: ImageJob, _ deliveries: inout Deliveries) {
        guard case .file(let file) = ending.content else { return }
        switch renewal.outcome {
        case .success(nil)?, nil:
            // The confirmed entry no longer exists.
            job.isUnconditional = true
            fetch([job])
        case .success(_?)?: giveRenewed(job, ending, file, nil, &deliveries)
        case .failure(let error)?: giveRenewed(job, ending, file, error, &deliveries)
        }
    }

    /// Delivers a confirmed image. If the renewal could not be written, the image is still right, and the result
    /// reports the error.
    private func giveRenewed(
        _ job: ImageJob, _ ending: ImageEnding, _ file: CachedFile, _ problem: KingfisherError?,
        _ deliveries: inout Deliveries
    ) {
        if let problem { ending.facts.storing.disk = .failed(problem) }
        let isTarget = file.entry.key == ending.retrieval.target && job.stale?.cache === ending.retrieval.cache
        if job.variants.isEmpty, isTarget {
            return deliveries.add(job, .success(ending.result(.file(file))))
        }
        derive(
            job,
            Derivation(
                file: file, way: .revalidated, response: ending.facts.response, problem: problem,
                otherwise: .fetch(stale: nil, commitsSeen: nil)))
    }
}

/// The recipient of a background revalidation, which no caller waits for.
private final class RenewalEnd: ImageRecipient {
    private let manager: KingfisherManager
    private let key: EntryKey

    init(_ manager: KingfisherManager, _ key: EntryKey) {
        self.manager = manager
        self.key = key
    }

    func take(_ ended: [EndedImage]) { manager.revalidating.withLock { _ = $0.remove(key) } }
}
