extension ImagePrefetcher {
    /// A prefetcher that makes one image of each source. The manager's `defaultOptions` stand before the options.
    public convenience init(
        manager: KingfisherManager, options: KingfisherOptionsInfo = [], configuration: Configuration = Configuration()
    ) {
        self.init(
            manager: manager, forms: [KingfisherOptions(manager.defaultOptions + options)],
            configuration: configuration)
    }

    /// Warms the cache with sources that the program has at hand. `each` is told of every source as it ends, one at a
    /// time; the item's `number` is the source's place, from 1. Where the form for lists ends early, nothing new starts
    /// either, and what is on its way goes on to its end.
    public func prefetch(
        _ sources: [Source], each: (PrefetchOutcome, PrefetchProgress) -> Void = { _, _ in }
    ) async -> PrefetchReport {
        await workOff(PrefetchSources(sources), endsDownloads: false) { event in
            if case .ended(let outcome, let progress) = event { each(outcome, progress) }
        }
    }

    /// Gives up, for good: what is on its way is cancelled, and with all that waits counts as failed, with
    /// `taskCancelled` (1003). Lines of a list that were not read yet are not counted. To be called from any thread; the
    /// manager goes on working for others.
    public func stop() { stopping.give() }
}
