import KFImaging
import KFStorage

extension KingfisherManager {
    /// Asks the source itself, then processes and stores.
    func load(_ retrieval: Retrieval, _ asked: Source) async throws(KingfisherError) -> RetrieveImageResult {
        guard case .brought(let loaded) = try await loadShared(retrieval, nil) else {
            throw .responseError(reason: .invalidHTTPStatusCode(304))
        }
        return try await finish(loaded, retrieval, asked)
    }

    /// Who wants the same source at the same time, in whatever form, shares one request and one original.
    func loadShared(
        _ retrieval: Retrieval, _ condition: RequestCondition?
    ) async throws(KingfisherError) -> OriginAnswer {
        let wish = Wish(priority: retrieval.options.request.priority, progress: retrieval.options.progress)
        let key = LoadKey(retrieval, condition)
        let answer = try await loads.value(for: key, wish: wish) { [self] wishes async throws(KingfisherError) in
            let attempts = AttemptCount()
            do throws(KingfisherError) {
                let loaded = try await loadOriginal(retrieval, condition, wishes, attempts)
                return LoadAnswer(outcome: .success(loaded), attempts: attempts.count)
            } catch {
                return LoadAnswer(outcome: .failure(error), attempts: attempts.count)
            }
        }
        retrieval.attempts.add(answer.attempts)
        return try answer.outcome.get()
    }

    /// Makes of an original what is wanted.
    func finish(
        _ loaded: LoadedOriginal, _ retrieval: Retrieval, _ asked: Source
    ) async throws(KingfisherError) -> RetrieveImageResult {
        let image = loaded.image
        var outcome = RetrievalOutcome(retrieval, asked: asked).by(.fetched)
        outcome.response = image.response
        outcome.attempts = retrieval.attempts.count
        outcome.storing.disk = loaded.storing
        if retrieval.wantsOriginal, let stored = loaded.stored {
            return try await result(of: stored, image.bytes, retrieval, outcome)
        }
        let pixels = image.info.map(PixelFacts.init)
        let origin = image.response.map { OriginFacts($0) }
        if retrieval.keepsBytes(of: image.format) {
            return try await store(untouched: image.bytes, retrieval, image.format, pixels, origin, outcome)
        }
        let bytes = try await cache.blocking.run { () throws(KingfisherError) in try image.bytes.load() }
        let made = try await image.made.value(for: retrieval.target.identifier) { () async throws(KingfisherError) in
            try await self.process(bytes, image.format, retrieval)
        }
        let digest = loaded.stored?.entry.object.digest ?? bytes.withUnsafeBytes { SHA256.hash($0) }
        return try await store(made, retrieval, original: digest, origin, outcome)
    }

    private func loadOriginal(
        _ retrieval: Retrieval, _ condition: RequestCondition?, _ wishes: SharedWishes, _ attempts: AttemptCount
    ) async throws(KingfisherError) -> OriginAnswer {
        let image: DownloadedImage
        switch try await fetch(retrieval, condition, wishes, attempts) {
        case .unchanged(let response): return .unchanged(response)
        case .image(let brought): image = brought
        }
        let origin = image.response.map { OriginFacts($0) }
        guard retrieval.keepsOriginal, retrieval.mayStore(origin, now: cache.now) else {
            return .brought(LoadedOriginal(image: image, stored: nil, storing: .none))
        }
        let facts = retrieval.facts(
            format: image.format, pixels: image.info.map(PixelFacts.init), origin: origin, original: nil, now: cache.now
        )
        do {
            let stored = try await cache.storeOnDisk(
                image.bytes, retrieval.original, facts, urgent: !retrieval.options.batchesStores)
            return .brought(
                LoadedOriginal(image: image, stored: stored, storing: stored == nil ? .none : .stored))
        } catch {
            // The image is there all the same; who asked for it is told.
            return .brought(LoadedOriginal(image: image, stored: nil, storing: .failed(error)))
        }
    }

    private func fetch(
        _ retrieval: Retrieval, _ condition: RequestCondition?, _ wishes: SharedWishes, _ attempts: AttemptCount
    ) async throws(KingfisherError) -> DownloadAnswer {
        let options = retrieval.options
        var retried = 0
        while true {
            if Task.isCancelled { throw .requestError(reason: .taskCancelled) }
            do {
                switch retrieval.source {
                case .network(let resource):
                    let store = options.cacheMemoryOnly ? nil : BodyStore(cache: cache, key: retrieval.original)
                    attempts.add(1)
                    return try await downloader.download(
                        resource.downloadURL, options.request, condition: condition, limits: options.decodeLimits,
                        store: store, wish: Wish(wishes))
                case .provider(let provider):
                    return .image(try await read(provider, options.decodeLimits))
                }
            } catch {
                guard !error.isCancellation, let strategy = options.retryStrategy,
                    case .retry(let delay) = strategy.decide(
                        RetryContext(source: retrieval.source, error: error, retriedCount: retried))
                else { throw error }
                retried += 1
                do { try await Task.sleep(for: delay) } catch { throw .requestError(reason: .taskCancelled) }
            }
        }
    }

    private func read(
        _ provider: any ImageDataProvider, _ limits: DecodeLimits
    ) async throws(KingfisherError) -> DownloadedImage {
        try await WorkerPool.processing.run { () throws(KingfisherError) in
            let bytes = try provider.data()
            let inspection = bytes.withUnsafeBytes { bytes in
                Result { () throws(KingfisherError) in try ImageInspector.inspect(bytes, limits: limits) }
            }
            let (format, info) = try inspection.get()
            return DownloadedImage(
                bytes: .memory(bytes), format: format, info: info, size: Int64(bytes.count), response: nil)
        }
    }

    /// Decodes, processes and encodes, off the cooperative pool.
    func process(
        _ bytes: [UInt8], _ format: ImageFormat, _ retrieval: Retrieval
    ) async throws(KingfisherError) -> ProcessedImage {
        let options = retrieval.options
        return try await WorkerPool.processing.run { () throws(KingfisherError) in
            do throws(ImagingError) {
                let image = try options.processor.process(.data(bytes), options: options.processing)
                let (encoded, format) = try options.cacheSerializer.data(for: image, original: format)
                return ProcessedImage(image: image, bytes: encoded, format: format)
            } catch {
                throw KingfisherError(processing: error, identifier: retrieval.target.identifier)
            }
        }
    }
}

extension PixelFacts {
    init(_ info: ImageInfo) { self.init(width: info.width, height: info.height, frames: info.frames) }
}
