import KFStorage
import KFTerms

extension KingfisherManager {
    /// Retrieves an image like the `async` function. `completionHandler` is called exactly once, on the options'
    /// ``KingfisherOptions/callbackQueue``.
    @discardableResult
    public func retrieveImage(
        with source: Source, options: KingfisherOptionsInfo? = nil, progressBlock: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (Result<RetrieveImageResult, KingfisherError>) -> Void
    ) -> DownloadTask {
        let options = self.options(options).reporting(to: progressBlock)
        return DownloadTask(callingBackOn: options.callbackQueue, completionHandler) {
            () async throws(KingfisherError) in
            try await self.retrieveImage(with: source, options: options)
        }
    }

    /// Retrieves the image of a URL or a resource, with a completion handler.
    @discardableResult
    public func retrieveImage(
        with resource: some SourceConvertible, options: KingfisherOptionsInfo? = nil,
        progressBlock: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (Result<RetrieveImageResult, KingfisherError>) -> Void
    ) -> DownloadTask {
        retrieveImage(
            with: resource.convertToSource(), options: options, progressBlock: progressBlock,
            completionHandler: completionHandler)
    }

    /// Retrieves several images of one source, in the order of the options. Each equals the result of `retrieveImage`
    /// alone.
    ///
    /// The source is asked at most once for all images that would be asked for with the same request. Common decoding, and
    /// the common first steps of the processors, are done once. The rest runs in parallel.
    public func retrieveVariants(
        of source: Source, options: [KingfisherOptions]
    ) async -> [Result<RetrieveImageResult, KingfisherError>] {
        var results: [Result<RetrieveImageResult, KingfisherError>] = []
        var retrievals: [Retrieval] = []
        var places: [Int] = []
        for options in options {
            do throws(KingfisherError) {
                retrievals.append(Retrieval(source, OptionsBox(try await prepared(options, for: source)), cache))
                places.append(results.count)
                results.append(.failure(.requestError(reason: .taskCancelled)))
            } catch {
                results.append(.failure(error))
            }
        }
        if let first = retrievals.first {
            let found = await self.results(of: first, .several(retrievals))
            for (place, result) in zip(places, found) { results[place] = result.map(repairable) }
        }
        return results
    }

    /// Retrieves several images of one source with lists of options, which are added to the manager's
    /// ``defaultOptions``.
    public func retrieveVariants(
        of source: some SourceConvertible, options: [KingfisherOptionsInfo]
    ) async -> [Result<RetrieveImageResult, KingfisherError>] {
        await retrieveVariants(of: source.convertToSource(), options: options.map { self.options($0) })
    }
}

extension KingfisherManager {
    /// The manager of the process, with ``ImageCache/default`` and ``ImageDownloader/default``.
    public static let shared = KingfisherManager(cache: .default, downloader: .default)
}

extension ImageCache {
    /// The cache in ``defaultDirectory()`` with the default configuration. Without such a directory in the environment,
    /// it is memory only. Nothing is opened before the first use.
    public static let `default` = ImageCache(Configuration(directory: defaultDirectory()))
}

extension ImageDownloader {
    /// The downloader with the default configuration. Nothing is started before the first use.
    public static let `default` = ImageDownloader()
}

extension KingfisherManager {
    /// Waits until background revalidations have ended. After `limit`, all transfers that still run are cancelled; nil
    /// waits without a limit.
    package func finishRevalidating(within limit: Duration?) async {
        guard !revalidating.withLock({ $0.isEmpty }) else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [background] in await background.wait() }
            if let limit {
                group.addTask { [downloader] in
                    do { try await Task.sleep(for: limit) } catch { return }
                    downloader.cancelAll()
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// Whether background revalidations are in flight.
    package var isRevalidating: Bool { !revalidating.withLock { $0.isEmpty } }
}
