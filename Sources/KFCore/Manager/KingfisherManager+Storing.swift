import KFImaging
import KFStorage

extension KingfisherManager {
    /// Keeps bytes as they came. A failure to store does not take the image from who asked for it.
    func store(
        untouched bytes: PendingBytes, _ retrieval: Retrieval, _ format: ImageFormat, _ pixels: PixelFacts?,
        _ origin: OriginFacts?, _ outcome: RetrievalOutcome
    ) async throws(KingfisherError) -> RetrieveImageResult {
        let facts = retrieval.facts(
            format: format, pixels: pixels, origin: origin, original: nil, now: cache.now)
        var outcome = outcome
        // What could not be stored once is not tried again under the same key.
        let failed = retrieval.wantsOriginal && outcome.storing.diskError != nil
        if !failed, let stored = try await keep(bytes, retrieval, facts, origin, &outcome) {
            return try await result(of: stored, bytes, retrieval, outcome)
        }
        let loaded = try await cache.blocking.run { () throws(KingfisherError) in try bytes.load() }
        return outcome.result(outcome.way, loaded, format, pixels)
    }

    /// Opens what was stored for who asked, unless many are asked for at once: of those, few are looked at. What another
    /// process has removed again by now comes from the bytes that were stored.
    func result(
        of stored: StoredFile, _ bytes: PendingBytes, _ retrieval: Retrieval, _ outcome: RetrievalOutcome
    ) async throws(KingfisherError) -> RetrieveImageResult {
        if retrieval.options.batchesStores { return outcome.result(outcome.way, stored) }
        if let file = try await cache.open(stored) { return outcome.result(outcome.way, file) }
        let loaded = try await cache.blocking.run { () throws(KingfisherError) in try bytes.load() }
        return outcome.result(outcome.way, stored, loaded)
    }

    /// Keeps what a processor made, in memory and on the disk.
    func store(
        _ made: ProcessedImage, _ retrieval: Retrieval, original: Digest, _ origin: OriginFacts?,
        _ outcome: RetrievalOutcome
    ) async throws(KingfisherError) -> RetrieveImageResult {
        var outcome = outcome
        outcome.storing.memory = .stored
        let pixels = PixelFacts(
            width: made.image.width, height: made.image.height,
            frames: made.format.supportsAnimation ? made.image.frames.count : 1)
        let facts = retrieval.facts(
            format: made.format, pixels: pixels, origin: origin, original: original, now: cache.now)
        let stored = try await keep(.memory(made.bytes), retrieval, facts, origin, &outcome)
        let result: RetrieveImageResult
        if let stored {
            result = try await self.result(of: stored, .memory(made.bytes), retrieval, outcome)
        } else {
            result = outcome.result(outcome.way, made.bytes, made.format, pixels)
        }
        cache.storeInMemory(
            CachedImage(image: made.image, facts: result.facts, path: result.cachedPath), retrieval.target,
            expiration: retrieval.memoryExpiration(by: origin, now: cache.now))
        return result
    }

    private func keep(
        _ bytes: PendingBytes, _ retrieval: Retrieval, _ facts: EntryFacts, _ origin: OriginFacts?,
        _ outcome: inout RetrievalOutcome
    ) async throws(KingfisherError) -> StoredFile? {
        let options = retrieval.options
        if options.cacheMemoryOnly || !retrieval.mayStore(origin, now: cache.now) { return nil }
        do {
            let stored = try await cache.storeOnDisk(
                bytes, retrieval.target, facts, urgent: !options.batchesStores)
            if stored != nil, outcome.storing.diskError == nil { outcome.storing.disk = .stored }
            return stored
        } catch {
            outcome.storing.disk = .failed(error)
            return nil
        }
    }
}
