import KFStorage

extension KingfisherManager {
    /// Asks the origin about an image whose time is over: its answer is that nothing has changed, or the new image. When
    /// it cannot be asked, the old one may have to do.
    func revalidate(
        _ retrieval: Retrieval, _ asked: Source, _ stale: FoundFile
    ) async throws(KingfisherError) -> RetrieveImageResult {
        do throws(KingfisherError) {
            guard !stale.isBorrowed, let condition = RequestCondition(stale.file.entry) else {
                return try await load(retrieval, asked)
            }
            switch try await fetch(retrieval, condition) {
            case .image(let image): return try await finish(image, retrieval, asked)
            case .stored: return try await takeStored(retrieval, asked)
            case .refused(let response, _):
                throw .responseError(reason: .invalidHTTPStatusCode(response.status))
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
        return try await serve(retrieval, asked, stale)
    }

    /// An image past its time at once, if its server allows that while it is asked again; that happens meanwhile. `finish`
    /// waits for it.
    func serveWhileRevalidating(
        _ retrieval: Retrieval, _ asked: Source, _ stale: FoundFile?
    ) async throws(KingfisherError) -> RetrieveImageResult? {
        guard let stale, !retrieval.options.onlyFromCache,
            retrieval.servesWhileRevalidating(stale.file.entry, now: cache.now),
            let result = try await serve(retrieval, asked, stale)
        else { return nil }
        let isNew = revalidating.withLock { $0.insert(retrieval.target).inserted }
        guard isNew else { return result }
        var again = retrieval.with { options in
            // The image has been given out: a failure costs nothing, and the next retrieval asks again.
            options.retryStrategy = nil
            options.staleIfError = nil
        }
        again.served = stale
        background.start { [self, again] in
            do throws(KingfisherError) { _ = try await bring(again, asked, nil) } catch {
                // What was given out was allowed to be stale.
            }
            revalidating.withLock { _ = $0.remove(again.target) }
        }
        return result
    }

    /// The path of a file that was given out stays good when another image takes its place a moment later.
    func keepServed(_ retrieval: Retrieval) async {
        guard let stale = retrieval.served, !stale.isBorrowed else { return }
        let entry = stale.file.entry
        guard entry.key == retrieval.target else { return }
        var facts = retrieval.facts(
            format: entry.format, pixels: entry.object.pixels, origin: nil, original: nil, now: cache.now)
        facts.expiration = .date(entry.expires)
        facts.extending = .none
        await retrieval.cache.keepFile(
            of: entry, as: EntryKey(key: entry.key.key, identifier: EntryKey.replacedIdentifier), facts)
    }

    private func serve(
        _ retrieval: Retrieval, _ asked: Source, _ stale: FoundFile
    ) async throws(KingfisherError) -> RetrieveImageResult? {
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
