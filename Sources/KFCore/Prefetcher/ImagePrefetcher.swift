import KFImaging
import KFStorage
import KFSystem
import Synchronization

/// Warms the cache from lists of any length. Kingfisher's `ImagePrefetcher`.
///
/// What is in the cache is passed over without looking at its bytes; the rest is retrieved, many at once, the hosts in
/// turn. Memory does not grow with the lists.
public final class ImagePrefetcher: Sendable {
    /// How much at once, and when to give up.
    public struct Configuration: Sendable {
        /// How many sources are asked at once. The downloader's `maxConnections` bounds them, too.
        public var maxConcurrentDownloads = 64
        /// How many sources of one host are asked at once. The downloader's `maxConnectionsPerHost` bounds them, too.
        public var maxPerHost = ImageDownloader.Configuration().maxConnectionsPerHost
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

    /// So many items are in flight at most, from the list to the committed row.
    private static let window = 1024

    private let manager: KingfisherManager
    /// What is made of each source: usually one form.
    private let forms: [OptionsBox]
    private let configuration: Configuration
    private let limits: PrefetchLimits
    private let isEnding = Atomic(false)
    let stopping = StopSignal()
    /// What `start` begins with; nil once it has begun.
    private let plan: Mutex<PrefetchPlan?>

    /// `forms`: the options for each image that is made of a source, at least one.
    public convenience init(
        manager: KingfisherManager, forms: [KingfisherOptions], configuration: Configuration = Configuration()
    ) {
        self.init(manager: manager, forms: forms, configuration: configuration, plan: nil)
    }

    init(
        manager: KingfisherManager, forms: [KingfisherOptions], configuration: Configuration, plan: PrefetchPlan?
    ) {
        precondition(!forms.isEmpty, "nothing is to be made of the sources")
        self.manager = manager
        let own = (forms[0].downloader ?? manager.downloader).configuration
        let limits = PrefetchLimits(
            total: configuration.maxConcurrentDownloads < own.maxConnections
                ? configuration.maxConcurrentDownloads : nil,
            perHost: configuration.maxPerHost < own.maxConnectionsPerHost ? configuration.maxPerHost : nil)
        self.limits = limits
        self.forms = forms.map { form in
            var form = form
            // With few in flight, each would wait for a commit that waits for others.
            form.batchesStores = limits.areWide
            form.waitForCache = true
            // What has expired is revalidated as a part of the run.
            form.servesWhileRevalidating = false
            return OptionsBox(form)
        }
        self.configuration = configuration
        self.plan = Mutex(plan)
    }

    /// What is to be begun with, once.
    func takePlan() -> PrefetchPlan? {
        plan.withLock { plan in
            defer { plan = nil }
            return plan
        }
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
        let inbox = PrefetchInbox()
        var run = PrefetchRun(
            window: InFlight.bound(Self.window), limits: limits, maxFailures: configuration.maxFailures)
        do {
            if let problem = try await manager.cache.diskProblem() { run.stop(.failed(problem)) }
        } catch {
            run.stop(.failed(error))
        }
        let limit = RunDeadline(configuration.deadline, grace: configuration.grace, clock: configuration.clock)
        let timer = Task {
            var phase = await limit.next()
            while let reached = phase {
                inbox.post([.reached(reached)])
                phase = await limit.next(after: reached)
            }
        }
        let stop = Task { [stopping] in if await stopping.wait() { inbox.post([.stopped]) } }
        defer {
            timer.cancel()
            stop.cancel()
        }
        await withTaskCancellationHandler {
            await workOff(input, &run, inbox, endsDownloads: endsDownloads, each: each)
        } onCancel: {
            inbox.post([.stopped])
        }
        return run.report
    }

    private func workOff(
        _ input: any PrefetchInput, _ run: inout PrefetchRun, _ inbox: PrefetchInbox, endsDownloads: Bool,
        each: (Event) -> Void
    ) async {
        var flying = PrefetchFlights(manager, forms, inbox)
        var hasStopped = false
        while true {
            if isEnding.load(ordering: .relaxed), !hasStopped { run.stop(.finished) }
            if run.isStopping, !hasStopped {
                hasStopped = true
                input.close()
                if endsDownloads { drain() } else { flying.cancelWaiting() }
            }
            run.retryPostponed()
            if run.isStopping {
                for outcome in run.dropPostponed() {
                    run.count(outcome)
                    each(.ended(outcome, run.progress))
                }
            }
            flying.start(run.takeOff())
            while run.startsReading() { Task { inbox.post([.read(await block(of: input))]) } }
            if run.isOver { return }
            let events = await inbox.next()
            // `finishEarly` has cancelled what was waiting. Those events must not count as failures.
            if isEnding.load(ordering: .relaxed), !hasStopped { run.stop(.finished) }
            for event in events {
                switch event {
                case .read(let result):
                    count(run.take(result), &run, each)
                    guard case .success(let block) = result else { continue }
                    if let error = block.broken { each(.brokenList(error)) }
                    for outcome in block.ended {
                        run.count(outcome)
                        each(.ended(outcome, run.progress))
                    }
                case .ended(let images): finish(flying.land(images), inbox, &run, each)
                case .variants(let job, let results): finish(flying.land(job, results), inbox, &run, each)
                case .exported(let outcomes): land(outcomes, &run, each)
                case .reached(.deadline): run.stop(.deadline)
                case .reached(.cutOff):
                    run.cutOff()
                    flying.cancelAll()
                case .stopped:
                    hasStopped = true
                    count(run.abandon() + input.abandon(), &run, each)
                    flying.cancelAll()
                }
            }
        }
    }

    /// Counts items that have no turn any more.
    private func count(_ items: [PrefetchItem], _ run: inout PrefetchRun, _ each: (Event) -> Void) {
        for item in items {
            let outcome = PrefetchOutcome(item: item, ending: .failed(.requestError(reason: .taskCancelled)))
            run.count(outcome)
            each(.ended(outcome, run.progress))
        }
    }

    private func land(_ outcomes: [PrefetchOutcome], _ run: inout PrefetchRun, _ each: (Event) -> Void) {
        for outcome in outcomes where run.land(outcome) { each(.ended(outcome, run.progress)) }
    }

    /// What has been retrieved is copied, where that is wanted, and counted.
    private func finish(
        _ outcomes: [PrefetchOutcome], _ inbox: PrefetchInbox, _ run: inout PrefetchRun, _ each: (Event) -> Void
    ) {
        guard let exporter = configuration.exporter, !outcomes.isEmpty else { return land(outcomes, &run, each) }
        for outcome in outcomes {
            WorkerPool.exporting.submit { inbox.post([.exported([Self.export(outcome, exporter)])]) }
        }
    }

    /// Whether what is there already is passed over, as far as the disk cache knows it.
    private var looksUp: Bool {
        let options = forms[0].value
        return !options.forceRefresh && !options.revalidate && configuration.exporter == nil
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
        var wishes: [PrefetchWish] = []
        wishes.reserveCapacity(items.count)
        let identified = forms.map(identified)
        let needsModifiers = forms.contains { !$0.value.request.isPrepared }
        for item in items {
            do throws(KingfisherError) {
                let source = try item.source.get()
                var wish = PrefetchWish(item: item)
                for form in identified {
                    var box = item.options(form)
                    if needsModifiers {
                        let options = try await manager.prepared(box.value, for: source)
                        box = OptionsBox(options)
                    }
                    wish.retrievals.append(Retrieval(source, box, manager.cache))
                }
                wishes.append(wish)
            } catch {
                block.ended.append(PrefetchOutcome(item: item, ending: .failed(error)))
            }
        }
        if looksUp { try await passOver(&wishes, &block) }
        for index in wishes.indices { wishes[index].detach() }
        block.missing = wishes
    }

    private func identified(_ form: OptionsBox) -> OptionsBox {
        let options = manager.identified(form.value)
        return options.request.responderIdentity == form.value.request.responderIdentity ? form : OptionsBox(options)
    }

    /// What is cached in each of its forms has ended; of the rest it is noted what is known to be missing.
    private func passOver(_ wishes: inout [PrefetchWish], _ block: inout PrefetchBlock) async throws(KingfisherError) {
        let count = forms.count
        let asked = wishes
        var accepts: (@Sendable (Int, Entry) -> Bool)?
        if forms.contains(where: { $0.value.cachePolicy == .http }) {
            accepts = { index, entry in asked[index / count].retrievals[index % count].accepts(entry) }
        }
        let found = try await manager.cache.touchFresh(
            asked.flatMap { $0.retrievals.map(\.target) }, originals: asked.flatMap { $0.retrievals.map(\.original) },
            where: accepts)
        wishes = []
        for (index, var wish) in asked.enumerated() {
            let looks = found.files[(index * count)..<((index + 1) * count)]
            let files = looks.compactMap { if case .fresh(let file) = $0 { file } else { nil } }
            if files.count == count {
                if forms[0].value.alsoPrefetchToMemory { await load(wish) }
                block.ended.append(PrefetchOutcome(item: wish.item, ending: .skipped(files)))
                continue
            }
            if count == 1, case .absent = looks[looks.startIndex], !wish.retrievals[0].needsLook {
                wish.isKnownMissing = true
                wish.retrievals[0].commitsSeen = found.commits
                manager.cache.noteMiss()
            }
            wishes.append(wish)
        }
    }

    /// What is on the disk comes into memory by being retrieved from there.
    private func load(_ wish: PrefetchWish) async {
        for retrieval in wish.retrievals {
            // What cannot be read now is as good as skipped.
            _ = try? await manager.retrieveImage(with: retrieval.source, options: retrieval.options)
        }
    }

    private static func export(_ outcome: PrefetchOutcome, _ exporter: ImageExporter) -> PrefetchOutcome {
        guard case .retrieved(var results) = outcome.ending else { return outcome }
        let item = outcome.item
        for form in results.indices {
            guard case .success(let image) = results[form].image else { continue }
            do throws(KingfisherError) {
                results[form].output = try exporter.exportNow(
                    image, form: form, name: item.name, number: item.number, place: "line \(item.line)")
            } catch {
                results[form].problem = error
            }
        }
        return PrefetchOutcome(item: item, ending: .retrieved(results), attempts: outcome.attempts)
    }
}
