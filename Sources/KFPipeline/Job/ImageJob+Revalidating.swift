import KFStorage
import KFTerms

/// Stale images: their origin confirms them or sends new ones. If the origin is unavailable, a stale image may serve.
extension ImageJob {
    /// Serves a stale image at once, and revalidates it in the background.
    func serveWhileRevalidating(
        _ stale: FoundFile, _ otherwise: Result<Asking, KingfisherError>, _ turn: inout Turn
    ) {
        // Before the image is delivered: a caller that closes the manager then finds the revalidation, and may wait for it.
        let renewal = renewal(of: stale)
        serve(stale, otherwise, &turn)
        if let renewal { Self.look([renewal]) }
    }

    /// Returns the job that revalidates a stale image in the background; nil if one does already.
    private func renewal(of stale: FoundFile) -> ImageJob? {
        let retrieval = self.retrieval
        let isNew = manager.revalidating.withLock { $0.insert(retrieval.target).inserted }
        guard isNew else { return nil }
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
        return ImageJob(manager, again, wanted, for: RenewalEnd(manager, retrieval.target), served: stale)
    }

    func serve(_ stale: FoundFile, _ otherwise: Result<Asking, KingfisherError>, _ turn: inout Turn) {
        let retrieval = self.retrieval
        if let refusal = retrieval.refusal(of: stale.entry.originalMeasures) { return fail(refusal, &turn) }
        // Without its origin, an expired image is here because a remote had it.
        let isImported = retrieval.options.onlyFromCache && state.withLock { $0.membersInRemote != nil }
        let way: RetrievalWay = isImported ? .remote : .stale
        if !makesVariants, stale.file.entry.key == retrieval.target {
            return turn.end(self, .success(retrieval.result(way, stale.file, asked: asked)))
        }
        // The result must not be stored, because it would count as fresh.
        derive(Derivation(stale, way, keeps: false, otherwise: otherwise))
    }

    /// Renews the entries that the origin has confirmed with a 304. `body` has the renewals, those of other jobs too.
    func renew(
        _ stale: FoundFile, _ asking: Asking, _ response: ResponseFacts, _ body: Body, _ turn: inout Turn
    ) {
        let retrieval = self.retrieval
        let entry = stale.file.entry
        let origin = OriginFacts(response, confirming: entry, retrieval, now: retrieval.now)
        var renewal = retrieval.renewal(by: origin, now: retrieval.now)
        renewal.lastModified = response.lastModified
        var ending = ImageEnding(
            retrieval, asked: asked, .revalidated, .file(stale.file), of: body, origin: origin,
            facts: Outcome.Facts(response: response, attempts: attempts))
        let place = stale.cache
        guard let storage = place.alreadyOpen, !storage.isReadOnly else {
            return giveRenewed(Draft(ending), stale, nil, &turn)
        }
        do throws(KingfisherError) {
            let keys = Set(([retrieval] + variants).flatMap(\.keysOnDisk)).subtracting([entry.key])
            turn.beginStores(urgent: !retrieval.options.batchesStores)
            for entry in try place.entries(confirmedWith: entry, among: keys) {
                var own = renewal
                own.freshness = retrieval.freshness(
                    of: origin, entry.key.isOriginal ? HeaderLines(nil) : entry.ownLines)
                ending.renewals += [body.keep(entry.key, in: place, &turn) { .renew([entry], own) }].compactMap { $0 }
            }
            ending.confirmed = asking
            wait(forStoresOf: ending, &turn)
        } catch {
            giveRenewed(Draft(ending), stale, error, &turn)
        }
    }

    /// Repeats the request without its condition.
    func askWhole(_ asking: Asking, _ turn: inout Turn) {
        var again = asking
        (again.isUnconditional, again.moment) = (true, nil)
        if enter(.fetching(again)) { turn.jobs.append(self) }
    }

    /// Continues when the renewals have been written to the index, or have failed. The first one decides.
    func conclude(_ draft: Draft, confirming asking: Asking, _ turn: inout Turn) {
        guard let stale = asking.stale else { return }
        switch draft.ending.renewals.first.flatMap({ draft.ending.body.outcome(of: $0) }) {
        case .success(nil)?, nil:
            // The confirmed entry no longer exists.
            askWhole(asking, &turn)
        case .success(_?)?: giveRenewed(draft, stale, nil, &turn)
        case .failure(let error)?: giveRenewed(draft, stale, error, &turn)
        }
    }

    /// Delivers a confirmed image. If the renewal could not be written, the image is still right, and the result
    /// reports the error.
    private func giveRenewed(
        _ draft: Draft, _ stale: FoundFile, _ problem: KingfisherError?, _ turn: inout Turn
    ) {
        let retrieval = draft.ending.retrieval
        if let answers = retrieval.options.answers {
            answers.confirm(stale.entry.key)
            for case .success(let file?)? in draft.ending.renewals.map({ draft.ending.body.outcome(of: $0) }) {
                answers.confirm(file.entry.key)
            }
        }
        if let refusal = retrieval.refusal(of: stale.entry.originalMeasures) { return fail(refusal, &turn) }
        if !makesVariants, stale.entry.key == retrieval.target, stale.cache === retrieval.cache {
            var storing = CacheStoreResult()
            if let problem { storing.disk = .failed(problem) }
            return turn.end(self, .success(draft.ending.result(.file(stale.file), storing)))
        }
        derive(
            Derivation(
                stale, .revalidated, response: draft.ending.facts.response, origin: draft.ending.origin,
                problem: problem))
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

    func ended(_ jobs: [ImageJob]) { manager.revalidating.withLock { _ = $0.remove(key) } }
}
