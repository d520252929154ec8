import KFCore
import Support

/// The origin, the downloader and the caches of all states.
struct DecisionWorld: Sendable {
    let origin: DecisionOrigin
    let caches: DecisionCaches
    private let downloader = ImageDownloader()
    private let lists: TemporaryDirectory
    private let deadPort: Int

    init() throws {
        origin = try DecisionOrigin()
        caches = DecisionCaches(origin, downloader)
        lists = try TemporaryDirectory()
        try lists.write("list", "\(origin.url.text)\n")
        deadPort = try FaultServer.lastingPort()
    }

    /// Returns the options that make an image.
    static func options(_ making: DecisionState.Making) -> KingfisherOptions {
        var options = KingfisherOptions()
        switch making {
        case .untouched: break
        case .grey: options.processor = GrayscaleImageProcessor()
        case .png: options.cacheSerializer = FormatIndicatedCacheSerializer.png
        }
        return options
    }

    /// A manager over the caches of a state, and the options of its retrieval.
    struct Machine: Sendable {
        let manager: KingfisherManager
        let options: KingfisherOptions
        let source: Source
        fileprivate let directory: TemporaryDirectory
        fileprivate let closing: [ImageCache]
        let agent: String

        /// Closes the caches.
        func close() async { for cache in closing { await cache.close() } }
    }

    /// Sets a state up. The caches of a machine that only looks are open for reading.
    func machine(_ state: DecisionState, onlyLooks: Bool) async throws -> Machine {
        let time = SharedValue(DecisionClock.start.advanced(by: 5000))
        let directory = try TemporaryDirectory()
        func configuration(_ content: CacheContent, _ name: String) async throws -> ImageCache.Configuration {
            let stored = try await caches.directory(content)
            var configuration = ImageCache.Configuration(directory: stored.path)
            if onlyLooks {
                configuration.access = .readOnly
            } else {
                let path = directory.path(name).path
                try stored.copy(to: path)
                configuration = ImageCache.Configuration(directory: path)
            }
            configuration.clock = CacheClock { time.value }
            configuration.lockTimeout = .seconds(60)
            if let layer = state.layer { configuration.lowerLayers = [try await caches.directory(layer).path] }
            switch state.remote {
            case .none: break
            case .down: configuration.remotes = [try layer(lists.path("missing").path)]
            case .has(let content):
                configuration.remotes = [try layer(try await caches.directory(content).remotePath)]
            }
            return configuration
        }
        let own = ImageCache(try await configuration(state.own, "own"))
        var closing = [own]
        var options = options(state)
        if let originals = state.originals {
            let cache = ImageCache(try await configuration(originals, "originals"))
            closing.append(cache)
            options.originalCache = cache
        }
        var manager = KingfisherManager(cache: own, downloader: ImageDownloader())
        if state.namesTargetCache {
            options.targetCache = own
            var configuration = ImageCache.Configuration(directory: nil)
            configuration.clock = CacheClock { time.value }
            manager = KingfisherManager(cache: ImageCache(configuration), downloader: ImageDownloader())
        }
        if state.memory != .none { try await fill(own, state) }
        time.value = DecisionClock.now
        let agent = origin.agent(origin.script(state.origin))
        options.request.userAgent = agent
        return Machine(
            manager: manager, options: options, source: .network(origin.url), directory: directory, closing: closing,
            agent: agent)
    }

    private func layer(_ path: String) throws -> any CacheLayer {
        try RemoteCacheLayer.layer("file://\(path)", environment: [:])
    }

    private func options(_ state: DecisionState) -> KingfisherOptions {
        var options = Self.options(state.making)
        options.cachePolicy = state.policy
        options.waitForCache = true
        options.memoryCacheExpiration = state.memory == .none ? .expired : nil
        if let language = state.language { options.request.headers = [("Accept-Language", language)] }
        options.forceRefresh = state.forcesRefresh
        options.revalidate = state.revalidates
        options.onlyFromCache = state.usesOnlyCache
        options.offline = state.isOffline
        options.fromMemoryCacheOrRefresh = state.usesMemoryOrRefresh
        options.retryFailed = state.retriesFailed
        if state.filters {
            options.filter = ImageFilter()
            options.filter?.minWidth = 100_000
        }
        options.cacheOriginalImage = state.cachesOriginal
        options.staleIfError = state.staleIfError.map { .seconds($0) }
        options.staleWhileRevalidate = state.staleWhileRevalidate.map { .seconds($0) }
        options.negativeTimeToLive = state.negativeTimeToLive.map { .seconds($0) }
        if state.origin == .dead { options.request.proxy = "http://127.0.0.1:\(deadPort)" }
        return options
    }

    /// Fetches the image into memory alone.
    private func fill(_ cache: ImageCache, _ state: DecisionState) async throws {
        var picture = state.own.target ?? state.own.original ?? CacheContent.Picture()
        picture.isFresh = true
        let agent = origin.agent { [origin, picture] _ in origin.reply(picture, varies: state.own.varies) }
        var options = Self.options(state.making)
        options.request.userAgent = agent
        options.request.headers = [("Accept-Language", state.memory == .otherLanguage ? "fr" : "de")]
        options.cachePolicy = state.policy
        options.forceRefresh = true
        options.cacheMemoryOnly = true
        options.waitForCache = true
        options.memoryCacheExpiration = .seconds(Double(DecisionClock.span(isFresh: state.memory != .expired)))
        // The answers of the state's own cache must stay.
        options.originalCache = ImageCache(ImageCache.Configuration(directory: nil))
        let manager = KingfisherManager(cache: cache, downloader: ImageDownloader())
        _ = try await manager.retrieveImage(with: .network(origin.url), options: options)
        _ = origin.takeRequests(of: agent)
    }

    // MARK: Announcements

    /// Returns what `explain` announces, then what a dry run does. Neither may ask the origin.
    func announcements(_ state: DecisionState) async throws -> [Announcement] {
        let machine = try await machine(state, onlyLooks: true)
        let plan = try await machine.manager.explain(machine.source, options: machine.options, asksRemotes: true).plan
        let forms = SharedValue<[PrefetchDryRun.Form]>([])
        try await PrefetchDryRun(manager: machine.manager, forms: [machine.options])
            .run(try PrefetchLists(paths: [lists.path("list").path])) { event in
                if case .found(let finding) = event { forms.value += finding.forms }
                return true
            }
        let requests = origin.takeRequests(of: machine.agent).count
        await machine.close()
        guard let form = forms.value.first, forms.value.count == 1, requests == 0 else { throw NoAnnouncement() }
        return [
            Announcement(
                by: .explain, step: plan.step, conditions: plan.conditions, canServeStale: plan.canServeStale),
            Announcement(by: .dryRun, step: form.next, state: form.state),
        ]
    }

    private struct NoAnnouncement: Error {}

    // MARK: Deeds

    /// Retrieves the image, as a program or as the command does.
    func retrieved(_ state: DecisionState) async throws -> Deed {
        let machine = try await machine(state, onlyLooks: false)
        var deed = Deed()
        do throws(KingfisherError) {
            var result: RetrieveImageResult?
            if state.asksCacheFirst {
                result = try machine.manager.retrieveCachedImage(with: machine.source, options: machine.options)
            }
            if result == nil {
                result = try await machine.manager.retrieveImage(with: machine.source, options: machine.options)
            }
            deed.way = result?.way
            deed.identifier = result?.identifier ?? ""
        } catch {
            deed.error = error
        }
        await machine.manager.finishRevalidating(within: .seconds(60))
        deed.requests = origin.takeRequests(of: machine.agent)
        await machine.close()
        return deed
    }

    /// Prefetches the image.
    func prefetched(_ state: DecisionState) async throws -> Deed {
        let machine = try await machine(state, onlyLooks: false)
        let outcomes = SharedValue<[PrefetchOutcome]>([])
        let prefetcher = ImagePrefetcher(manager: machine.manager, forms: [machine.options])
        _ = await prefetcher.prefetch([machine.source]) { outcome, _ in outcomes.value.append(outcome) }
        var deed = Deed()
        if let outcome = outcomes.value.first {
            deed.error = outcome.error
            switch outcome.ending {
            case .skipped: deed.way = .disk
            case .retrieved(let results):
                if case .success(let image)? = results.first?.image {
                    deed.way = image.way
                    deed.identifier = image.identifier
                }
            case .failed, .notTried: break
            }
        }
        deed.requests = origin.takeRequests(of: machine.agent)
        await machine.close()
        return deed
    }
}
