extension ImagePrefetcher {
    /// A prefetcher of these sources, which ``start()`` begins. A cache or a downloader in the options is used in place of the
    /// manager's.
    public convenience init(
        sources: [Source], options: KingfisherOptionsInfo = [], manager: KingfisherManager = .shared,
        configuration: Configuration = Configuration()
    ) {
        self.init(sources, options, manager, configuration)
    }

    /// The same. `progressBlock` is called once for each source as it ends, `completionHandler` once at the end, both on the
    /// queue that the options name.
    public convenience init(
        sources: [Source], options: KingfisherOptionsInfo = [], manager: KingfisherManager = .shared,
        configuration: Configuration = Configuration(), progressBlock: PrefetcherProgressBlock? = nil,
        completionHandler: @escaping PrefetcherProgressBlock
    ) {
        self.init(sources, options, manager, configuration, progressBlock, completionHandler)
    }

    /// A prefetcher of resources.
    public convenience init(
        resources: [any Resource], options: KingfisherOptionsInfo = [], manager: KingfisherManager = .shared,
        configuration: Configuration = Configuration()
    ) {
        self.init(resources, options, manager, configuration)
    }

    /// A prefetcher of resources, with the same blocks.
    public convenience init(
        resources: [any Resource], options: KingfisherOptionsInfo = [], manager: KingfisherManager = .shared,
        configuration: Configuration = Configuration(), progressBlock: PrefetcherProgressBlock? = nil,
        completionHandler: @escaping PrefetcherProgressBlock
    ) {
        self.init(resources, options, manager, configuration, progressBlock, completionHandler)
    }

    /// A prefetcher of URLs.
    public convenience init(
        urls: [some SourceConvertible], options: KingfisherOptionsInfo = [], manager: KingfisherManager = .shared,
        configuration: Configuration = Configuration()
    ) {
        self.init(urls, options, manager, configuration)
    }

    /// A prefetcher of URLs, with the same blocks.
    public convenience init(
        urls: [some SourceConvertible], options: KingfisherOptionsInfo = [], manager: KingfisherManager = .shared,
        configuration: Configuration = Configuration(), progressBlock: PrefetcherProgressBlock? = nil,
        completionHandler: @escaping PrefetcherProgressBlock
    ) {
        self.init(urls, options, manager, configuration, progressBlock, completionHandler)
    }

    private convenience init(
        _ sources: [any SourceConvertible], _ options: KingfisherOptionsInfo, _ manager: KingfisherManager,
        _ configuration: Configuration, _ progressBlock: PrefetcherProgressBlock? = nil,
        _ completionHandler: PrefetcherProgressBlock? = nil
    ) {
        let form = manager.options(options)
        var used = manager
        if form.targetCache != nil || form.downloader != nil {
            used = KingfisherManager(
                cache: form.targetCache ?? manager.cache, downloader: form.downloader ?? manager.downloader)
        }
        self.init(
            manager: used, forms: [form], configuration: configuration,
            plan: PrefetchPlan(
                sources: sources.map { $0.convertToSource() }, queue: form.callbackQueue, progressBlock: progressBlock,
                completionHandler: completionHandler))
    }

    /// Begins with the sources that the prefetcher was made with, and returns at once. A second call does nothing, nor does
    /// one on a prefetcher that was made without sources. ``stop()`` ends it.
    public func start() {
        guard let plan = takePlan() else { return }
        Task {
            var ended = PrefetchedSources()
            _ = await prefetch(plan.sources) { outcome, _ in
                ended.add(outcome)
                ended.tell(plan.progressBlock, on: plan.queue)
            }
            ended.finish(plan.sources)
            ended.tell(plan.completionHandler, on: plan.queue)
        }
    }
}

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
