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

/// Responses without an image. Under `CachePolicy.http` they are cached while they are fresh, like images (RFC 9111,
/// 3). With `negativeTimeToLive`, a 404 or 410 is under both policies. Such an entry has an empty object, beside the
/// images of the URL.
extension KingfisherManager {
    /// Returns the order to cache a response without an image; nil if it is not cacheable.
    func answerOrder(
        _ response: ResponseFacts, _ error: KingfisherError, _ retrieval: Retrieval, replacing answer: Sight.Answer
    ) -> Store? {
        guard retrieval.remembersAnswers else { return nil }
        guard let facts = retrieval.facts(ofAnswer: response, error, now: cache.now) else {
            // This response replaces the cached one, and is not cacheable itself.
            forgetAnswer(answer, retrieval)
            return nil
        }
        let key = retrieval.answerKey
        let made = Result { () throws(KingfisherError) in try retrieval.originals.order(.memory([]), key, facts) }
        guard case .success(let order) = made else { return nil }
        return order
    }

    /// Removes the cached response without an image: the server has sent another response.
    func forgetAnswer(_ answer: Sight.Answer, _ retrieval: Retrieval) {
        if retrieval.isLocal { return }
        if case .none = answer { return }
        retrieval.originals.removeAnswer(retrieval.answerKey)
    }

    /// Waits until background revalidations have ended. After `limit`, all transfers that still run are cancelled; nil
    /// waits without a limit.
    package func finishRevalidating(within limit: Duration?) async {
        guard !revalidating.withLock({ $0.isEmpty }) else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [background] in await background.finish() }
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
