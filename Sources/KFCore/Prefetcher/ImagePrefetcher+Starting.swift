import KFLists
import KFPipeline
import KFTerms

extension ImagePrefetcher {
    /// Creates a prefetcher of sources, for ``start()``. A cache or a downloader in the options replaces the manager's.
    public convenience init(
        sources: [Source], options: KingfisherOptionsInfo? = nil, manager: KingfisherManager = .shared,
        configuration: Configuration = Configuration()
    ) {
        self.init(sources, options, manager, configuration)
    }

    /// Creates a prefetcher of sources with callbacks on the options' ``KingfisherOptions/callbackQueue``.
    /// `progressBlock` is called at the end of each source, `completionHandler` once at the end of the run.
    public convenience init(
        sources: [Source], options: KingfisherOptionsInfo? = nil, manager: KingfisherManager = .shared,
        configuration: Configuration = Configuration(), progressBlock: PrefetcherProgressBlock? = nil,
        completionHandler: @escaping PrefetcherProgressBlock
    ) {
        self.init(sources, options, manager, configuration, progressBlock, completionHandler)
    }

    /// Creates a prefetcher of resources.
    public convenience init(
        resources: [any Resource], options: KingfisherOptionsInfo? = nil, manager: KingfisherManager = .shared,
        configuration: Configuration = Configuration()
    ) {
        self.init(resources, options, manager, configuration)
    }

    /// Creates a prefetcher of resources with callbacks.
    public convenience init(
        resources: [any Resource], options: KingfisherOptionsInfo? = nil, manager: KingfisherManager = .shared,
        configuration: Configuration = Configuration(), progressBlock: PrefetcherProgressBlock? = nil,
        completionHandler: @escaping PrefetcherProgressBlock
    ) {
        self.init(resources, options, manager, configuration, progressBlock, completionHandler)
    }

    /// Creates a prefetcher of URLs.
    public convenience init(
        urls: [some SourceConvertible], options: KingfisherOptionsInfo? = nil, manager: KingfisherManager = .shared,
        configuration: Configuration = Configuration()
    ) {
        self.init(urls, options, manager, configuration)
    }

    /// Creates a prefetcher of URLs with callbacks.
    public convenience init(
        urls: [some SourceConvertible], options: KingfisherOptionsInfo? = nil, manager: KingfisherManager = .shared,
        configuration: Configuration = Configuration(), progressBlock: PrefetcherProgressBlock? = nil,
        completionHandler: @escaping PrefetcherProgressBlock
    ) {
        self.init(urls, options, manager, configuration, progressBlock, completionHandler)
    }

    private convenience init(
        _ sources: [any SourceConvertible], _ options: KingfisherOptionsInfo?, _ manager: KingfisherManager,
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

    /// Starts prefetching the sources of the initializer, and returns at once. Further calls do nothing; neither do
    /// calls on a prefetcher without sources. ``stop()`` ends the run.
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
    /// Creates a prefetcher that makes one image of each source. The options are added to the manager's
    /// `defaultOptions`.
    public convenience init(
        manager: KingfisherManager, options: KingfisherOptionsInfo? = nil,
        configuration: Configuration = Configuration()
    ) {
        self.init(
            manager: manager, forms: [manager.options(options)], configuration: configuration)
    }

    /// Prefetches the sources.
    ///
    /// `each` is called at the end of every source, one at a time; the item's `number` is the source's position, from
    /// 1. When the run ends early, as for lists, no new source starts and those in flight finish.
    public func prefetch(
        _ sources: [Source], each: (PrefetchOutcome, PrefetchProgress) -> Void = { _, _ in }
    ) async -> PrefetchReport {
        await workOff(PrefetchSources(sources), endsDownloads: false) { event in
            if case .ended(let outcome, let progress) = event { each(outcome, progress) }
        }
    }
}
