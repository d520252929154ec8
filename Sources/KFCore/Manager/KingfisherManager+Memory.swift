import KFStorage

/// The shortest way: an image in memory costs no job, no task and no trip to another thread.
extension KingfisherManager {
    /// The image if it is in memory just as it is wanted. Nil says nothing: the stages look for it then.
    func imageInMemory(_ source: Source, _ options: KingfisherOptions) -> RetrieveImageResult? {
        guard !options.forceRefresh, !options.revalidate, !Task.isCancelled, options.request.isPrepared,
            (options.downloader ?? downloader).authenticationChallengeResponder == nil
        else { return nil }
        let cache = options.targetCache ?? cache
        let key = EntryKey(key: source.cacheKey(for: options.request), identifier: options.identifier)
        // Which requests a selected one is for, the stages know.
        guard let image = cache.imageInMemory(key, extending: options.memoryCacheAccessExtendingExpiration),
            image.selection == nil
        else { return nil }
        return RetrieveImageResult(
            source: source, originalSource: source, way: .memory, key: key.key, identifier: key.identifier,
            facts: image.facts, storing: CacheStoreResult(), response: nil, attempts: 0, isPersonal: false, check: nil,
            warnings: [], content: .memory(image, cache),
            terms: ResultTerms(options.processing, options.cacheSerializer, options.imageModifier),
            cachedPath: image.path)
    }
}
