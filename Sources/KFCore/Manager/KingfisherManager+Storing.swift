import KFImaging
import KFStorage

extension KingfisherManager {
    /// Keeps what was downloaded and is wanted just so.
    func store(
        untouched image: DownloadedImage, _ retrieval: Retrieval, _ pixels: PixelFacts?, _ origin: OriginFacts?,
        _ outcome: RetrievalOutcome
    ) async throws(KingfisherError) -> RetrieveImageResult {
        if let early = retrieval.early {
            let bytes = try await cache.blocking.run { () throws(KingfisherError) in try image.bytes.load() }
            let result = outcome.result(outcome.way, bytes, image.format, pixels)
            remember(.bytes(bytes), result, retrieval, origin)
            early.give(.success(result))
        }
        let kept = await keepOriginal(image, retrieval)
        var outcome = outcome
        outcome.storing.disk = kept.outcome
        let result: RetrieveImageResult
        if let stored = kept.stored {
            result = try await self.result(of: stored, image.bytes, retrieval, outcome)
        } else {
            let bytes = try await cache.blocking.run { () throws(KingfisherError) in try image.bytes.load() }
            result = outcome.result(outcome.way, bytes, image.format, pixels)
        }
        if retrieval.usesMemory {
            remember(.bytes(try await result.data()), result, retrieval, origin)
        }
        return result
    }

    /// Keeps bytes as they came, under another key than the original's or from another cache. A failure to store does
    /// not take the image from who asked for it.
    func store(
        untouched bytes: PendingBytes, _ retrieval: Retrieval, _ format: ImageFormat, _ pixels: PixelFacts?,
        _ origin: OriginFacts?, _ outcome: RetrievalOutcome
    ) async throws(KingfisherError) -> RetrieveImageResult {
        let facts = retrieval.facts(format: format, pixels: pixels, origin: origin, original: nil, now: cache.now)
        var outcome = outcome
        if let stored = await keep(bytes, retrieval, facts, origin, &outcome) {
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
        if let file = try await retrieval.cache.open(stored) { return outcome.result(outcome.way, file) }
        let loaded = try await cache.blocking.run { () throws(KingfisherError) in try bytes.load() }
        return outcome.result(outcome.way, stored, loaded)
    }

    /// Keeps what a processor made, in memory and on the disk.
    func store(
        _ made: ProcessedImage, _ retrieval: Retrieval, original: Digest, _ origin: OriginFacts?,
        _ outcome: RetrievalOutcome
    ) async throws(KingfisherError) -> RetrieveImageResult {
        giveEarly(made, retrieval, origin, outcome)
        var outcome = outcome
        outcome.warn(made.image.warnings)
        if retrieval.usesMemory { outcome.storing.memory = .stored }
        let pixels = PixelFacts(made)
        let facts = retrieval.facts(
            format: made.format, pixels: pixels, origin: origin, original: original, now: cache.now)
        let result: RetrieveImageResult
        if let stored = await keep(.memory(made.bytes), retrieval, facts, origin, &outcome) {
            result = try await self.result(of: stored, .memory(made.bytes), retrieval, outcome)
        } else {
            result = outcome.result(outcome.way, made.bytes, made.format, pixels)
        }
        remember(.image(made.image), result, retrieval, origin)
        return result
    }

    /// Gives out what a processor made before it is stored, where nobody waits for that.
    func giveEarly(
        _ made: ProcessedImage, _ retrieval: Retrieval, _ origin: OriginFacts?, _ outcome: RetrievalOutcome
    ) {
        guard let early = retrieval.early, early.isOpen else { return }
        var outcome = outcome
        outcome.warn(made.image.warnings)
        let result = outcome.result(outcome.way, made.bytes, made.format, PixelFacts(made))
        remember(.image(made.image), result, retrieval, origin)
        early.give(.success(result))
    }

    /// Stores the bytes as they came, once for all who share them.
    @discardableResult
    func keepOriginal(_ image: DownloadedImage, _ retrieval: Retrieval) async -> StoredOriginal {
        let retrieval = retrieval.placed(by: image.response)
        await keepServed(retrieval)
        let origin = image.response.map { OriginFacts($0) }
        guard retrieval.keepsOriginal, !image.isPersonal, retrieval.mayStore(origin, now: cache.now) else {
            return StoredOriginal()
        }
        let facts = retrieval.facts(
            format: image.format, pixels: image.info.map(PixelFacts.init), origin: origin, original: nil,
            now: cache.now)
        do {
            let stored = try await image.stored.value(for: retrieval.original) { () async throws(KingfisherError) in
                try await retrieval.originals.storeOnDisk(
                    image.bytes, prepared: image.prepared, retrieval.original, facts,
                    urgent: !retrieval.options.batchesStores)
            }
            return StoredOriginal(stored: stored, outcome: stored == nil ? .none : .stored)
        } catch {
            // The image is there all the same; who asked for it is told.
            return StoredOriginal(outcome: .failed(error))
        }
    }

    private func remember(
        _ content: CachedImage.Content, _ result: RetrieveImageResult, _ retrieval: Retrieval, _ origin: OriginFacts?
    ) {
        guard retrieval.usesMemory else { return }
        retrieval.cache.storeInMemory(
            CachedImage(
                content: content, facts: result.facts, path: result.cachedPath,
                selection: retrieval.selection(of: origin)), retrieval.target,
            expiration: retrieval.memoryExpiration(by: origin, now: cache.now))
    }

    private func keep(
        _ bytes: PendingBytes, _ retrieval: Retrieval, _ facts: EntryFacts, _ origin: OriginFacts?,
        _ outcome: inout RetrievalOutcome
    ) async -> StoredFile? {
        let options = retrieval.options
        if !retrieval.keepsTarget || !retrieval.mayStore(origin, now: cache.now) { return nil }
        do {
            let stored = try await retrieval.cache.storeOnDisk(
                bytes, retrieval.target, facts, urgent: !options.batchesStores)
            if stored != nil, outcome.storing.diskError == nil { outcome.storing.disk = .stored }
            return stored
        } catch {
            outcome.storing.disk = .failed(error)
            return nil
        }
    }
}
