import KFStorage

extension KingfisherManager {
    /// Asks the origin about an image whose time is over: its answer is that nothing has changed, or the new image. When
    /// it cannot be asked, the old one may have to do.
    func revalidate(
        _ retrieval: Retrieval, _ asked: Source, _ stale: FoundFile
    ) async throws(KingfisherError) -> RetrieveImageResult {
        do {
            guard !stale.isBorrowed, let condition = RequestCondition(stale.file.entry) else {
                return try await load(retrieval, asked)
            }
            switch try await fetch(retrieval, condition) {
            case .image(let image): return try await finish(image, retrieval, asked)
            case .stored: return try await takeStored(retrieval, asked)
            case .unchanged(let response, let flight):
                defer { withExtendedLifetime(flight) {} }
                if let renewed = try await renew(stale, retrieval, asked, response) { return renewed }
                // What the answer confirms is not there any more.
                return try await load(retrieval, asked)
            }
        } catch {
            guard DelayRetryStrategy.canHelp(error), let old = try await serveStale(retrieval, asked, stale) else {
                throw error
            }
            return old
        }
    }

    /// An image past its time, if the options and its server allow that.
    func serveStale(
        _ retrieval: Retrieval, _ asked: Source, _ stale: FoundFile?
    ) async throws(KingfisherError) -> RetrieveImageResult? {
        guard let stale, retrieval.mayServeStale(stale.file.entry, now: cache.now) else { return nil }
        let outcome = RetrievalOutcome(retrieval, asked: asked).by(.stale)
        if stale.file.entry.key == retrieval.target { return outcome.result(.stale, stale.file) }
        // Stored, it would count as fresh.
        return try await derive(retrieval.unstored, from: stale.file, outcome)
    }

    private func renew(
        _ stale: FoundFile, _ retrieval: Retrieval, _ asked: Source, _ response: ResponseFacts
    ) async throws(KingfisherError) -> RetrieveImageResult? {
        let entry = stale.file.entry
        let origin = OriginFacts(response, confirming: entry)
        var renewal = retrieval.renewal(by: origin, now: cache.now)
        renewal.etag = response.etag
        renewal.lastModified = response.lastModified
        renewal.freshness = retrieval.freshness(of: origin)
        let others = retrieval.keysOnDisk.filter { $0 != entry.key }
        var outcome = RetrievalOutcome(retrieval, asked: asked).by(.revalidated)
        outcome.response = response
        outcome.attempts = retrieval.attempts.count
        do {
            guard
                try await (stale.file.entry.key == retrieval.target ? retrieval.cache : retrieval.originals).renew(
                    entry, others: others, renewal, urgent: !retrieval.options.batchesStores)
            else { return nil }
        } catch {
            // The image is right all the same; who asked for it is told.
            outcome.storing.disk = .failed(error)
        }
        if stale.file.entry.key == retrieval.target { return outcome.result(.revalidated, stale.file) }
        return try await derive(retrieval, from: stale.file, outcome)
    }
}
