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
        var retrievals: [Int: Retrieval] = [:]
        var results: [Int: Result<RetrieveImageResult, KingfisherError>] = [:]
        var shared: [Int] = []
        for (index, options) in options.enumerated() {
            do throws(KingfisherError) {
                let prepared = try await prepared(options, for: source)
                let retrieval = Retrieval(source, prepared, cache, counting: attempts)
                retrievals[index] = retrieval
                if let found = try await cached(retrieval) {
                    results[index] = .success(found)
                } else if retrieval.canShareDecoding(with: shared.first.flatMap { retrievals[$0] }) {
                    shared.append(index)
                } else {
                    results[index] = .success(
                        try await retrieveImage(with: source, options: retrieval.options, counting: attempts))
                }
            } catch {
                results[index] = .failure(error)
            }
        }
        for (index, result) in zip(shared, await make(shared.compactMap { retrievals[$0] })) { results[index] = result }
        return options.indices.compactMap { results[$0] }
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
        let retrieval = retrieval.of(representation: original.representation)
        var outcome = RetrievalOutcome(retrieval, asked: retrieval.source)
            .by(original.way == .fetched ? .fetched : .derived)
        outcome.isPersonal = original.isPersonal
        outcome.response = original.response
        outcome.attempts = original.attempts
        outcome.check = original.check
        outcome.storing.disk = original.storing.disk
        return try await store(
            made, original.isPersonal ? retrieval.unstored : retrieval, original: digest, original.origin, outcome)
    }
}

extension Retrieval {
    /// Whether both are made of the same bytes, by the same decoding; what is not processed at all needs none.
    fileprivate func canShareDecoding(with other: Retrieval?) -> Bool {
        guard !options.processor.identifier.isEmpty else { return false }
        return other.map { options.processing == $0.options.processing && hasSameOriginal(as: $0) } ?? true
    }

    private func hasSameOriginal(as other: Retrieval) -> Bool {
        guard original == other.original, cache === other.cache, originals === other.originals else { return false }
        guard case .network(let resource) = source else { return true }
        let requests = [options.request, other.options.request]
        if requests.contains(where: { $0.redirectHandler != nil && $0.redirectHandler?.cacheIdentity == nil }) {
            return false
        }
        let digests = requests.map { RequestIdentity.digest(resource.downloadURL, $0) }
        return digests[0] == digests[1]
            && TransferTerms(requests[0], options.inspector)
                == TransferTerms(requests[1], other.options.inspector)
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
