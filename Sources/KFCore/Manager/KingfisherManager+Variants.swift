import KFImaging
import KFStorage

extension KingfisherManager {
    /// Several images made of one source, in the order of the options; each is just what `retrieveImage` makes alone.
    ///
    /// The source is asked at most once. Decoding that several need is done once, as are the steps that their chains
    /// begin with; the rest runs side by side.
    public func retrieveVariants(
        of source: Source, options: [KingfisherOptions]
    ) async -> [Result<RetrieveImageResult, KingfisherError>] {
        await retrieveVariants(of: source, options: options, counting: AttemptCount())
    }

    /// The same; the requests that it takes are counted, those of a failure too.
    package func retrieveVariants(
        of source: Source, options: [KingfisherOptions], counting attempts: AttemptCount
    ) async -> [Result<RetrieveImageResult, KingfisherError>] {
        let retrievals = options.map { Retrieval(source, $0, cache, counting: attempts) }
        var results: [Int: Result<RetrieveImageResult, KingfisherError>] = [:]
        var shared: [Int] = []
        for (index, retrieval) in retrievals.enumerated() {
            do throws(KingfisherError) {
                if let found = try await cached(retrieval) {
                    results[index] = .success(found)
                } else if retrieval.canShareDecoding(with: shared.first.map { retrievals[$0] }) {
                    shared.append(index)
                } else {
                    results[index] = .success(
                        try await retrieveImage(with: source, options: retrieval.options, counting: attempts))
                }
            } catch {
                results[index] = .failure(error)
            }
        }
        for (index, result) in zip(shared, await make(shared.map { retrievals[$0] })) { results[index] = result }
        return retrievals.indices.compactMap { results[$0] }
    }

    /// The image itself from a cache; nil when it has to be made.
    private func cached(_ retrieval: Retrieval) async throws(KingfisherError) -> RetrieveImageResult? {
        try await cache.blocking.run { [self] () throws(KingfisherError) in
            try retrieveCachedImage(with: retrieval.source, options: retrieval.options)
        }
    }

    private func make(_ retrievals: [Retrieval]) async -> [Result<RetrieveImageResult, KingfisherError>] {
        guard let first = retrievals.first else { return [] }
        let original: RetrieveImageResult
        let maker: VariantMaker
        do {
            original = try await retrieveImage(
                with: first.source, options: first.optionsOfOriginal, counting: first.attempts)
            maker = VariantMaker(
                bytes: try await original.data(), format: original.facts.format, retrievals: retrievals)
        } catch {
            return retrievals.map { _ in .failure(error) }
        }
        let digest = maker.bytes.withUnsafeBytes { SHA256.hash($0) }
        var results: [Int: Result<RetrieveImageResult, KingfisherError>] = [:]
        await withTaskGroup(of: (Int, Result<RetrieveImageResult, KingfisherError>).self) { group in
            for (index, made) in await maker.make() {
                group.addTask { [self] in
                    do throws(KingfisherError) {
                        let image = try made.get()
                        return (index, .success(try await store(image, retrievals[index], original, digest)))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            for await (index, result) in group { results[index] = result }
        }
        return retrievals.indices.compactMap { results[$0] }
    }

    private func store(
        _ made: ProcessedImage, _ retrieval: Retrieval, _ original: RetrieveImageResult, _ digest: Digest
    ) async throws(KingfisherError) -> RetrieveImageResult {
        var outcome = RetrievalOutcome(retrieval, asked: retrieval.source)
            .by(original.way == .fetched ? .fetched : .derived)
        outcome.response = original.response
        outcome.attempts = original.attempts
        outcome.storing.disk = original.storing.disk
        return try await store(made, retrieval, original: digest, original.origin, outcome)
    }
}

extension Retrieval {
    /// Whether both need the same decoding; what is not processed at all needs none.
    fileprivate func canShareDecoding(with other: Retrieval?) -> Bool {
        guard !options.processor.identifier.isEmpty else { return false }
        return other.map { options.processing == $0.options.processing } ?? true
    }

    /// For the bytes that the variants are made of.
    fileprivate var optionsOfOriginal: KingfisherOptions {
        var options = options
        options.processor = DefaultImageProcessor()
        options.cacheSerializer = DefaultCacheSerializer()
        options.onlyLoadFirstFrame = false
        options.decodeLimits.scaleDownBytes = nil
        options.scaleFactor = 1
        options.cacheMemoryOnly = options.cacheMemoryOnly || !options.cacheOriginalImage
        options.batchesStores = false
        options.waitForCache = true
        return options
    }
}
