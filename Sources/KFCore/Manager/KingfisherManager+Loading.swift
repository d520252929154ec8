import KFImaging
import KFStorage

extension KingfisherManager {
    /// Asks the source itself, then processes and stores.
    func load(_ retrieval: Retrieval, _ asked: Source) async throws(KingfisherError) -> RetrieveImageResult {
        // Who wants the same source at the same time, in whatever form, shares one request and one original.
        let answer = try await loads.value(for: LoadKey(retrieval)) { [self] () async throws(KingfisherError) in
            let attempts = AttemptCount()
            do throws(KingfisherError) {
                let loaded = try await loadOriginal(retrieval, attempts)
                return LoadAnswer(outcome: .success(loaded), attempts: attempts.count)
            } catch {
                return LoadAnswer(outcome: .failure(error), attempts: attempts.count)
            }
        }
        retrieval.attempts.add(answer.attempts)
        let loaded = try answer.outcome.get()
        let image = loaded.image
        var outcome = RetrievalOutcome(retrieval, asked: asked).by(.fetched)
        outcome.response = image.response
        outcome.attempts = retrieval.attempts.count
        outcome.storing.disk = loaded.storing
        if retrieval.wantsOriginal, let stored = loaded.stored {
            return try await result(of: stored, retrieval, outcome)
        }
        let pixels = image.info.map(PixelFacts.init)
        if retrieval.keepsBytes(of: image.format) {
            return try await store(untouched: image.bytes, retrieval, image.format, pixels, image.response, outcome)
        }
        let bytes = try await cache.blocking.run { () throws(KingfisherError) in try image.bytes.load() }
        let made = try await process(bytes, image.format, retrieval)
        let digest = loaded.stored?.entry.object.digest ?? bytes.withUnsafeBytes { SHA256.hash($0) }
        return try await store(made, retrieval, original: digest, image.response, outcome)
    }

    private func loadOriginal(
        _ retrieval: Retrieval, _ attempts: AttemptCount
    ) async throws(KingfisherError) -> LoadedOriginal {
        let image = try await fetch(retrieval, attempts)
        guard retrieval.keepsOriginal else {
            return LoadedOriginal(image: image, stored: nil, storing: .none)
        }
        let facts = retrieval.facts(
            format: image.format, pixels: image.info.map(PixelFacts.init), response: image.response, original: nil)
        do {
            let stored = try await cache.storeOnDisk(
                image.bytes, retrieval.original, facts, urgent: !retrieval.options.batchesStores)
            return LoadedOriginal(
                image: image, stored: stored, storing: stored == nil ? .none : .stored)
        } catch {
            // The image is there all the same; who asked for it is told.
            return LoadedOriginal(image: image, stored: nil, storing: .failed(error))
        }
    }

    private func fetch(
        _ retrieval: Retrieval, _ attempts: AttemptCount
    ) async throws(KingfisherError) -> DownloadedImage {
        let options = retrieval.options
        var retried = 0
        while true {
            if Task.isCancelled { throw .requestError(reason: .taskCancelled) }
            do {
                switch retrieval.source {
                case .network(let resource):
                    let cache = options.cacheMemoryOnly ? nil : cache
                    attempts.add(1)
                    return try await downloader.download(
                        resource.downloadURL, options.request, limits: options.decodeLimits, cache: cache)
                case .provider(let provider):
                    return try await read(provider, options.decodeLimits)
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

/// What a processor made, and the bytes that stand for it.
struct ProcessedImage: Sendable {
    let image: Image
    let bytes: [UInt8]
    let format: ImageFormat
}

extension PixelFacts {
    init(_ info: ImageInfo) { self.init(width: info.width, height: info.height, frames: info.frames) }
}
