import KFStorage

extension KingfisherManager {
    /// As `retrieveImage(with:options:)`, for code that cannot wait: `completionHandler` is called exactly once, on the
    /// queue that the options name.
    @discardableResult
    public func retrieveImage(
        with source: Source, options: KingfisherOptionsInfo = [], progressBlock: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (Result<RetrieveImageResult, KingfisherError>) -> Void
    ) -> DownloadTask {
        let options = self.options(options).reporting(to: progressBlock)
        return DownloadTask(callingBackOn: options.callbackQueue, completionHandler) {
            () async throws(KingfisherError) in
            try await self.retrieveImage(with: source, options: options)
        }
    }

    /// The same for a URL or a resource.
    @discardableResult
    public func retrieveImage(
        with resource: some SourceConvertible, options: KingfisherOptionsInfo = [],
        progressBlock: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (Result<RetrieveImageResult, KingfisherError>) -> Void
    ) -> DownloadTask {
        retrieveImage(
            with: resource.convertToSource(), options: options, progressBlock: progressBlock,
            completionHandler: completionHandler)
    }
}

extension KingfisherManager {
    /// A manager of ``ImageCache/default`` and ``ImageDownloader/default``, for the whole process.
    public static let shared = KingfisherManager(cache: .default, downloader: .default)
}

extension ImageCache {
    /// The cache in ``defaultDirectory()``, with the default configuration; in memory only where the environment names no
    /// directory. Nothing is opened before it is used.
    public static let `default` = ImageCache(Configuration(directory: defaultDirectory()))
}

extension ImageDownloader {
    /// A downloader with the default configuration. Nothing is started before it is used.
    public static let `default` = ImageDownloader()
}

/// Answers that brought no image. Under `CachePolicy.http` they are kept as long as they are fresh, like images (RFC 9111, 3):
/// an entry with an empty object, beside the images of the URL.
extension KingfisherManager {
    /// What remembers what a server has said, where its answer allows that. What cannot be remembered is asked for again.
    func answerOrder(_ response: ResponseFacts, _ retrieval: Retrieval) -> IndexOrder? {
        guard let facts = retrieval.facts(ofAnswer: response, now: cache.now) else {
            // The last answer counts, and this one is not to be used again.
            forgetAnswer(retrieval)
            return nil
        }
        let key = EntryKey(key: retrieval.target.key, identifier: EntryKey.answerIdentifier)
        let made = Result { () throws(KingfisherError) in try retrieval.originals.order(.memory([]), key, facts) }
        guard case .success(let order) = made else { return nil }
        return order
    }

    /// The server has another answer by now.
    func forgetAnswer(_ retrieval: Retrieval) {
        if retrieval.answer != nil { retrieval.originals.removeAnswer(forKey: retrieval.target.key) }
    }

    /// Waits until what was given out while its server is asked again has been asked for, `limit` at most (nil: as long as
    /// that takes), then ends what still runs.
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

    /// Whether `finishRevalidating` has anything to wait for.
    package var isRevalidating: Bool { !revalidating.withLock { $0.isEmpty } }
}
