import KFImaging
import KFStorage

extension KingfisherManager {
    /// Asks the source itself, then processes and stores.
    func load(_ retrieval: Retrieval, _ asked: Source) async throws(KingfisherError) -> RetrieveImageResult {
        switch try await fetch(retrieval, nil) {
        case .image(let image): return try await finish(image, retrieval, asked)
        case .unchanged(let response, _), .refused(let response, _):
            throw .responseError(reason: .invalidHTTPStatusCode(response.status))
        case .stored: return try await takeStored(retrieval, asked)
        }
    }

    /// What the source brings; with a condition, perhaps that nothing has changed. Who wants the same of a server at the
    /// same time shares one transfer. The retry strategy decides about failures.
    func fetch(
        _ retrieval: Retrieval, _ condition: RequestCondition?
    ) async throws(KingfisherError) -> DownloadAnswer {
        let options = retrieval.options
        let wish = Wish(
            priority: options.request.priority, progress: options.progress, isEarly: retrieval.early != nil,
            isForced: options.forceRefresh)
        var retried = 0
        let userInfo = RetryUserInfo()
        while true {
            var refusal: ResponseFacts?
            if Task.isCancelled { throw .requestError(reason: .taskCancelled) }
            do throws(KingfisherError) {
                switch retrieval.source {
                case .network(let resource):
                    let store =
                        options.cacheMemoryOnly
                        ? nil
                        : BodyStore(
                            cache: retrieval.originals, key: retrieval.original.source,
                            keepsBody: retrieval.keepsOriginal)
                    retrieval.attempts.add(1)
                    let answer = try await (options.downloader ?? downloader).download(
                        resource.downloadURL, retrieval.request, condition: condition, inspector: options.inspector,
                        acceptsEverySuccess: options.cachePolicy == .http, store: store, cache: retrieval.originals,
                        gate: gate(retrieval), wish: wish,
                        keep: { image in await self.keepOriginal(image, retrieval) })
                    switch answer {
                    case .stored: retrieval.attempts.add(-1)
                    case .refused(let response, let isPersonal):
                        refusal = isPersonal ? nil : response
                        throw .responseError(reason: .invalidHTTPStatusCode(response.status))
                    case .image, .unchanged: if retrieval.answer != nil { await forgetAnswer(retrieval) }
                    }
                    return answer
                case .provider(let provider):
                    return try await reads.value(for: ReadKey(retrieval), wish: wish) {
                        flight async throws(KingfisherError) in
                        let gate = self.gate(retrieval)
                        try await gate?.claim(options.request, self.downloader.rests)
                        if gate?.isStored == true { return .stored }
                        var image = try await self.read(provider, options.inspector)
                        image.flight = gate?.hold
                        flight.deliver(.image(image))
                        await self.keepOriginal(image, retrieval)
                        return .image(image)
                    }
                }
            } catch {
                guard !error.isCancellation, let strategy = options.retryStrategy,
                    case .retry(let delay) = strategy.decide(
                        RetryContext(source: retrieval.source, error: error, retriedCount: retried, userInfo: userInfo))
                else {
                    if let refusal { await keepAnswer(refusal, retrieval) }
                    throw error
                }
                retried += 1
                try await downloader.rests.rest(for: delay)
            }
        }
    }

    /// Nil where nothing is stored: other processes would gain nothing by waiting.
    private func gate(_ retrieval: Retrieval) -> FlightGate? {
        guard !retrieval.options.cacheMemoryOnly, let storage = retrieval.originals.alreadyOpen, !storage.isReadOnly
        else { return nil }
        return FlightGate(storage, retrieval.original.source, commitsSeen: retrieval.commitsSeen) {
            await retrieval.isCached()
        }
    }

    /// Makes of a body what is wanted, and stores what is to be stored of both.
    func finish(
        _ image: DownloadedImage, _ retrieval: Retrieval, _ asked: Source
    ) async throws(KingfisherError) -> RetrieveImageResult {
        let retrieval = (image.isPersonal ? retrieval.unstored : retrieval).placed(by: image.response)
        // The flight ends with the last of those who store.
        defer { withExtendedLifetime(image.flight) {} }
        var outcome = RetrievalOutcome(retrieval, asked: asked).by(.fetched)
        outcome.isPersonal = image.isPersonal
        outcome.response = image.response
        outcome.attempts = retrieval.attempts.count
        outcome.check = image.findings.extent
        outcome.warn(image.findings.warnings)
        let pixels = image.info.map(PixelFacts.init)
        let origin = image.response.map { OriginFacts($0) }
        if retrieval.wantsOriginal {
            return try await store(untouched: image, retrieval, pixels, origin, outcome)
        }
        if retrieval.early != nil {
            // Nobody waits for the original to be stored.
            return try await make(of: image, retrieval, pixels, origin, outcome) { () async in
                await self.keepOriginal(image, retrieval)
            }
        }
        let original = await keepOriginal(image, retrieval)
        outcome.storing.disk = original.outcome
        return try await make(of: image, retrieval, pixels, origin, outcome) { () async in original }
    }

    private func make(
        of image: DownloadedImage, _ retrieval: Retrieval, _ pixels: PixelFacts?, _ origin: OriginFacts?,
        _ outcome: RetrievalOutcome, keeping original: () async -> StoredOriginal
    ) async throws(KingfisherError) -> RetrieveImageResult {
        let bytes = try await cache.blocking.run { () throws(KingfisherError) in try image.bytes.load() }
        if retrieval.keepsBytes(of: image.format) {
            _ = await original()
            return try await store(untouched: .memory(bytes), retrieval, image.format, pixels, origin, outcome)
        }
        let result: Result<ProcessedImage, KingfisherError>
        do throws(KingfisherError) {
            result = .success(
                try await image.made.value(for: retrieval.target.identifier) { () async throws(KingfisherError) in
                    try await self.process(bytes, image.format, retrieval)
                })
        } catch {
            result = .failure(error)
        }
        if case .success(let made) = result { giveEarly(made, retrieval, origin, outcome) }
        // The original is kept even if nothing can be made of it.
        let kept = await original()
        let digest = kept.digest ?? bytes.withUnsafeBytes { SHA256.hash($0) }
        return try await store(result.get(), retrieval, original: digest, origin, outcome)
    }

    private func read(
        _ provider: any ImageDataProvider, _ inspector: ImageInspector
    ) async throws(KingfisherError) -> DownloadedImage {
        try await WorkerPool.processing.run { () throws(KingfisherError) in
            let bytes = try provider.data()
            let inspection = bytes.withUnsafeBytes { bytes in
                Result { () throws(KingfisherError) in try inspector.inspect(bytes) }
            }
            return DownloadedImage(bytes: .memory(bytes), try inspection.get(), response: nil)
        }
    }

    /// Decodes, processes and encodes, off the cooperative pool.
    func process(
        _ bytes: [UInt8], _ format: ImageFormat, _ retrieval: Retrieval
    ) async throws(KingfisherError) -> ProcessedImage {
        let options = retrieval.options
        return try await WorkerPool.processing.run { () throws(KingfisherError) in
            do throws(ImagingError) {
                return try Allowance(options.decodeLimits, fileBytes: bytes.count).run {
                    () throws(ImagingError) in
                    let image = try options.processor.process(.data(bytes), options: options.processing)
                    let (encoded, format) = try options.cacheSerializer.data(for: image, original: format)
                    return ProcessedImage(image: image, bytes: encoded, format: format)
                }
            } catch {
                throw KingfisherError(processing: error, identifier: retrieval.target.identifier)
            }
        }
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
