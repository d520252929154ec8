import KFImaging
import KFStorage
import Synchronization

/// Warms the cache from lists of any length. Kingfisher's `ImagePrefetcher`.
///
/// What is in the cache is passed over without looking at its bytes; the rest is retrieved, many at once, the hosts in
/// turn. Memory does not grow with the lists.
public final class ImagePrefetcher: Sendable {
    /// How much at once, and when to give up.
    public struct Configuration: Sendable {
        /// How many sources are asked at once, in all and of one host.
        public var maxConcurrentDownloads = 64
        /// How many sources of one host are asked at once.
        public var maxPerHost = 8
        /// Past this the run is given up.
        public var maxFailures: FailureLimit?
        /// Nothing new starts when the run has taken so long; what is in flight then has `grace` more, nil for ever.
        public var deadline: Duration?
        /// What is in flight at the deadline may take so much longer; nil for ever.
        public var grace: Duration?
        /// Where a copy of every image goes.
        public var exporter: ImageExporter?
        /// By which deadline and grace are measured.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// The defaults: 64 at once, 8 of a host, no limits.
        public init() {}
    }

    /// What is told while the lists are worked off.
    public enum Event: Sendable {
        /// An item has ended; with the counts as they are now.
        case ended(PrefetchOutcome, PrefetchProgress)
        /// A list cannot be read, or not to its end; the next one is gone on with.
        case brokenList(KingfisherError)
    }

    private enum Step: Sendable {
        case read(Result<PrefetchBlock, KingfisherError>)
        case ended(PrefetchOutcome)
        case deadline, cutOff, stopped
        case nothing
    }

    /// Work beside the transfers of one host: bodies that are checked, processed and stored while others come.
    private static let margin = 56
    /// So many hosts that do not answer leave room for the others.
    private static let hosts = 8

    private let manager: KingfisherManager
    /// What is made of each source: usually one form.
    private let forms: [KingfisherOptions]
    private let configuration: Configuration
    private let isEnding = Atomic(false)
    let stopping = StopSignal()

    /// `forms`: the options for each image that is made of a source, at least one.
    public init(
        manager: KingfisherManager, forms: [KingfisherOptions], configuration: Configuration = Configuration()
    ) {
        precondition(!forms.isEmpty, "nothing is to be made of the sources")
        self.manager = manager
        self.forms = forms.map { form in
            var form = form
            form.batchesStores = true
            form.waitForCache = true
            // What has expired is revalidated as a part of the run.
            form.servesWhileRevalidating = false
            return form
        }
        self.configuration = configuration
    }

    /// Starts nothing new, here and for good in the manager's downloader; what is on its way goes on to its end, and the
    /// call of `prefetch` returns then. A program that goes on after that gives the prefetcher a manager with a
    /// downloader of its own, or uses `stop()`.
    public func finishEarly(_ lists: PrefetchLists) {
        lists.close()
        drain()
    }

    private func drain() {
        isEnding.store(true, ordering: .relaxed)
        manager.downloader.drain()
    }

    /// Works off the lists. `each` is told of every item as it ends, one at a time. It ends early, as `finishEarly`
    /// does, when the cache fails (what cannot be stored need not be fetched), when too much has failed, and at the
    /// deadline.
    public func prefetch(_ lists: PrefetchLists, each: (Event) -> Void) async -> PrefetchReport {
        await workOff(lists, endsDownloads: true, each: each)
    }

    /// `endsDownloads`: when it ends early, what waits for a connection gives up too, for good and for all who use the
    /// downloader.
    func workOff(
        _ input: any PrefetchInput, endsDownloads: Bool, each: (Event) -> Void
    ) async -> PrefetchReport {
        var run = PrefetchRun(turns: turns, maxFailures: configuration.maxFailures)
        do {
            if let problem = try await manager.cache.diskProblem() { run.stop(.failed(problem)) }
        } catch {
            run.stop(.failed(error))
        }
        await withTaskGroup(of: Step.self) { group in
            if let deadline = configuration.deadline { group.addTask { await self.sleep(deadline, then: .deadline) } }
            group.addTask { await self.stopping.wait() ? .stopped : .nothing }
            var hasStopped = false
            func give(_ outcome: PrefetchOutcome) { each(.ended(outcome, run.progress)) }
            func giveUp(_ items: [PrefetchItem]) {
                for item in items {
                    let outcome = PrefetchOutcome(item: item, ending: .failed(.requestError(reason: .taskCancelled)))
                    run.count(outcome)
                    give(outcome)
                }
            }
            while true {
                if isEnding.load(ordering: .relaxed), !hasStopped { run.stop(.finished) }
                if run.isStopping, !hasStopped {
                    hasStopped = true
                    input.close()
                    if endsDownloads { drain() }
                }
                run.retryPostponed()
                if run.isStopping {
                    for outcome in run.dropPostponed() {
                        run.count(outcome)
                        give(outcome)
                    }
                }
                while let item = run.takeOff() { group.addTask { .ended(await self.retrieve(item)) } }
                while run.startsReading() { group.addTask { .read(await self.block(of: input)) } }
                guard !run.isOver, let step = await group.next() else { break }
                switch step {
                case .read(let result):
                    giveUp(run.take(result))
                    guard case .success(let block) = result else { continue }
                    if let error = block.broken { each(.brokenList(error)) }
                    for outcome in block.ended {
                        run.count(outcome)
                        give(outcome)
                    }
                case .ended(let outcome):
                    if run.land(outcome) { give(outcome) }
                case .deadline:
                    run.stop(.deadline)
                    if let grace = configuration.grace { group.addTask { await self.sleep(grace, then: .cutOff) } }
                case .cutOff:
                    run.cutOff()
                    group.cancelAll()
                case .stopped:
                    hasStopped = true
                    giveUp(run.abandon() + input.abandon())
                    group.cancelAll()
                case .nothing: break
                }
            }
            group.cancelAll()
        }
        return run.report
    }

    /// Whether what is there already is passed over, as far as the disk cache knows it.
    private var looksUp: Bool { !forms[0].forceRefresh && configuration.exporter == nil }

    private var turns: HostTurns {
        HostTurns(
            limit: InFlight.bound(configuration.maxConcurrentDownloads + Self.hosts * Self.margin),
            perHost: configuration.maxPerHost + Self.margin)
    }

    private func sleep(_ span: Duration, then step: Step) async -> Step {
        do { try await configuration.clock.sleep(for: span) } catch { return .nothing }
        return step
    }

    /// The next items of the lists, parted into what is there and what is missing.
    private func block(of input: any PrefetchInput) async -> Result<PrefetchBlock, KingfisherError> {
        var block = PrefetchBlock()
        switch await input.next() {
        case .end:
            block.isLast = true
            return .success(block)
        case .broken(let error):
            block.broken = error
            return .success(block)
        case .items(let items):
            do throws(KingfisherError) {
                try await part(items, &block)
                return .success(block)
            } catch {
                return .failure(error)
            }
        }
    }

    private func part(_ items: [PrefetchItem], _ block: inout PrefetchBlock) async throws(KingfisherError) {
        var asked: [PrefetchItem] = []
        var keys: [EntryKey] = []
        keys.reserveCapacity(items.count * forms.count)
        let identified = forms.map(manager.identified)
        let needsModifiers = forms.contains { !$0.request.isPrepared }
        for var item in items {
            do throws(KingfisherError) {
                let source = try item.source.get()
                if needsModifiers { item.requests = try await requests(for: item, source) }
                for (index, form) in identified.enumerated() {
                    keys.append(Retrieval(source, item.options(form, at: index), manager.cache).target)
                }
                asked.append(item)
            } catch {
                block.ended.append(PrefetchOutcome(item: item, ending: .failed(error)))
            }
        }
        let found = looksUp ? try await manager.cache.touchFresh(keys, where: acceptance(asked)) : []
        for (index, var item) in asked.enumerated() {
            let files = looksUp ? found[(index * forms.count)..<((index + 1) * forms.count)].compactMap { $0 } : []
            if files.count == forms.count {
                if forms[0].alsoPrefetchToMemory { await load(item) }
                block.ended.append(PrefetchOutcome(item: item, ending: .skipped(files)))
            } else {
                item.detach()
                block.missing.append(item)
            }
        }
    }

    /// What the modifiers of the forms make of the item's request.
    private func requests(for item: PrefetchItem, _ source: Source) async throws(KingfisherError) -> [RequestOptions] {
        var requests: [RequestOptions] = []
        for form in forms { requests.append(try await manager.prepared(item.options(form), for: source).request) }
        return requests
    }

    /// Whether what is cached answers the request of an item; nil when everything does.
    private func acceptance(_ items: [PrefetchItem]) -> (@Sendable (Int, Entry) -> Bool)? {
        guard forms.contains(where: { $0.cachePolicy == .http }) else { return nil }
        return { [forms, manager] index, entry in
            guard entry.freshness != nil, case .success(let source) = items[index / forms.count].source else {
                return true
            }
            let form = index % forms.count
            let options = items[index / forms.count].options(forms[form], at: form)
            return Retrieval(source, options, manager.cache).accepts(entry)
        }
    }

    /// What is on the disk comes into memory by being retrieved from there.
    private func load(_ item: PrefetchItem) async {
        guard case .success(let source) = item.source else { return }
        for (index, form) in forms.enumerated() {
            // What cannot be read now is as good as skipped.
            _ = try? await manager.retrieveImage(with: source, options: item.options(form, at: index))
        }
    }

    private func retrieve(_ item: PrefetchItem) async -> PrefetchOutcome {
        let attempts = AttemptCount()
        do {
            let source = try item.source.get()
            var results = await retrieve(
                source, forms.indices.map { item.options(forms[$0], at: $0) }, attempts
            ).map(PrefetchResult.init)
            if let exporter = configuration.exporter {
                for index in results.indices { await export(&results[index], item, form: index, exporter) }
            }
            return PrefetchOutcome(item: item, ending: .retrieved(results), attempts: attempts.count)
        } catch {
            return PrefetchOutcome(item: item, ending: .failed(error))
        }
    }

    private func retrieve(
        _ source: Source, _ forms: [KingfisherOptions], _ attempts: AttemptCount
    ) async -> [Result<RetrieveImageResult, KingfisherError>] {
        if forms.count > 1 {
            return await manager.retrieveVariants(of: source, options: forms, counting: attempts)
        }
        do throws(KingfisherError) {
            var options = forms[0]
            options.isKnownMissing = looksUp && !options.onlyFromCache
            return [.success(try await manager.retrieveImage(with: source, options: options, counting: attempts))]
        } catch {
            return [.failure(error)]
        }
    }

    private func export(
        _ result: inout PrefetchResult, _ item: PrefetchItem, form: Int, _ exporter: ImageExporter
    ) async {
        guard case .success(let image) = result.image else { return }
        do {
            result.output = try await exporter.export(
                image, form: form, name: item.name, number: item.number, place: "line \(item.line)")
        } catch {
            result.problem = error
        }
    }
}
