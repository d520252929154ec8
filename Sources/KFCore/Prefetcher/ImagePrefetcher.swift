import KFImaging
import KFLists
import KFPipeline
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// A prefetcher that fills the cache from lists of any length. Kingfisher's `ImagePrefetcher`.
///
/// Cached images are skipped without reading their bytes. The others are fetched concurrently, with the hosts in turn: the
/// lists are read on while hosts are busy, up to 64 MiB of items that wait. Beyond that, memory does not grow with the
/// length of the lists.
public final class ImagePrefetcher: Sendable {
    /// The limits of a run.
    public struct Configuration: Sendable {
        /// The maximum number of sources in flight. The default is 64; the downloader's `maxConnections` limits them as
        /// well.
        public var maxConcurrentDownloads = 64
        /// The maximum number of sources in flight for one host. The default is 8; the downloader's
        /// `maxConnectionsPerHost` limits them as well.
        public var maxPerHost = ImageDownloader.Configuration().maxConnectionsPerHost
        /// The number or share of failures after which the run is given up; nil is unlimited.
        public var maxFailures: FailureLimit?
        /// The time after which no new source starts; nil is unlimited.
        public var deadline: Duration?
        /// The time that sources in flight have when the run ends early; nil is unlimited. Then they are cancelled.
        public var grace: Duration?
        /// The number of items that may be read beyond the first one that has not ended, approximately; nil is unlimited.
        /// It bounds what a program keeps to put the ends of items in order.
        public var maxItemsAhead: Int?
        /// Whether the run fills the cache: it skips what is cached, ends when the cache fails, and retries what met a
        /// lock. Otherwise it is for the images: it opens what is cached, serves a stale image while that is
        /// revalidated, and goes on without a cache.
        package var fillsCache = true
        /// The exporter that writes a copy of every image; nil writes none. It serves one run.
        public var exporter: (any PrefetchExporter)?
        /// The sieve that drops duplicates before they are exported; nil exports them.
        package var sieve: DuplicateSieve?
        /// The lock that the images must match; nil for none. It serves one run, whose program calls
        /// ``LockedRun/finish(isWhole:)`` at the end.
        public var lock: LockedRun?
        /// The clock for ``deadline`` and ``grace``.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// Creates the defaults: 64 sources in flight, 8 per host, no other limits.
        public init() {}
    }

    /// An event of a run over lists.
    public enum Event: Sendable {
        /// An item has ended. The progress includes it.
        case ended(PrefetchOutcome, PrefetchProgress)
        /// A list could not be read to its end. The run continues with the next list.
        case brokenList(KingfisherError)
        /// The ends that have come so far are told, and the run waits for more. A program that gathers its output writes
        /// it now.
        case waiting
    }

    /// The maximum number of items in flight, from their start to the committed row.
    private static let window = 1024

    private struct State {
        /// The sources for `start`; nil once it has begun.
        var plan: PrefetchPlan?
        /// What the runs have been told. It applies to later ones as well.
        var orders: [PrefetchOrder] = []
        /// The options of each image that is made of a source, usually one.
        var forms: [OptionsBox]
        /// The runs under way, by number.
        var runs: [Int: PrefetchInbox] = [:]
        var next = 0
    }

    let manager: KingfisherManager
    let configuration: Configuration
    private let state: Mutex<State>
    /// What the runs have received, and the work on their items in flight.
    package let tally = RunTally()
    /// The number of images that are made of each source.
    package let imagesPerItem: Int

    /// Creates a prefetcher. `forms` are the options of each image that is made of a source, at least one.
    public convenience init(
        manager: KingfisherManager, forms: [KingfisherOptions], configuration: Configuration = Configuration()
    ) {
        self.init(manager: manager, forms: forms, configuration: configuration, plan: nil)
    }

    init(
        manager: KingfisherManager, forms: [KingfisherOptions], configuration: Configuration, plan: PrefetchPlan?
    ) {
        precondition(!forms.isEmpty, "a prefetcher needs at least one form")
        self.manager = manager
        let own = (forms[0].downloader ?? manager.downloader).configuration
        // A limit that the downloader enforces anyway is its own: then an idle connection is used at once.
        var configuration = configuration
        if configuration.maxConcurrentDownloads >= own.maxConnections { configuration.maxConcurrentDownloads = .max }
        if configuration.maxPerHost >= own.maxConnectionsPerHost { configuration.maxPerHost = .max }
        let isWide = configuration.maxConcurrentDownloads == .max && configuration.maxPerHost == .max
        imagesPerItem = forms.count { !$0.identifier.isEmpty }
        let boxes = forms.map { [tally] form in
            var form = form
            form.tally = tally
            // With few sources in flight, each would wait for a commit that waits for others.
            form.batchesStores = isWide && configuration.fillsCache
            form.opensBatchedFiles = configuration.exporter != nil
            form.waitForCache = true
            form.notesOriginal = configuration.lock != nil
            // Stale images are revalidated as part of the run.
            if configuration.fillsCache { form.servesWhileRevalidating = false }
            return OptionsBox(form)
        }
        self.configuration = configuration
        state = Mutex(State(plan: plan, forms: boxes))
    }

    var forms: [OptionsBox] { state.withLock { $0.forms } }

    /// Returns the sources for `start`, once.
    func takePlan() -> PrefetchPlan? { state.withLock { $0.plan.take() } }

    /// Ends the run early: no new source starts, sources in flight finish, and `prefetch` then returns.
    ///
    /// All other items end as `notTried`. For these, lists in regular files are read to their end; of a pipe, only what
    /// has been read is known. With `countsRest` false, they are not read.
    ///
    /// The manager's downloader starts nothing new afterwards. A program that continues to use it gives the prefetcher
    /// a manager with its own downloader, or calls ``stop()``.
    public func finishEarly(_ lists: PrefetchLists, countsRest: Bool = true) {
        if countsRest { lists.finish() } else { lists.close() }
        finishEarly()
    }

    /// Cuts off the transfers that are running, after `finishEarly`. Their items end as cancelled.
    package func cutOff() { tell(.cutOff) }

    package var runningTransfers: Int { manager.downloader.runningTransfers }

    /// Ends the run early. All known items that have not started end as `notTried`.
    package func finishEarly() {
        // Before the downloader cancels waiting items, which have not failed.
        tell(.finish(.finished))
        manager.downloader.drain()
    }

    /// Stops the prefetcher permanently.
    ///
    /// Sources in flight and waiting ones fail with `taskCancelled` (1003). Lines of a list that have not been read are
    /// not counted. Safe to call from any thread; the manager stays usable.
    public func stop() { tell(.stop) }

    private func tell(_ order: PrefetchOrder) {
        let runs = state.withLock { state in
            state.orders.append(order)
            return Array(state.runs.values)
        }
        for run in runs { run.post([.told(order)]) }
    }

    /// Prefetches all items of the lists. `each` is called at the end of every item, one at a time.
    ///
    /// The run ends early, as with ``finishEarly(_:countsRest:)``, on too many failures and at the deadline. It also ends when the
    /// cache fails: images that cannot be stored need not be fetched.
    public func prefetch(_ lists: PrefetchLists, each: (Event) -> Void) async -> PrefetchReport {
        await workOff(lists, endsDownloads: true, each: each)
    }

    /// Prefetches operands like lists.
    package func prefetch(_ operands: PrefetchSources, each: (Event) -> Void) async -> PrefetchReport {
        await workOff(operands, endsDownloads: true, each: each)
    }

    /// Runs the event loop. With `endsDownloads`, an early end also stops the downloader permanently for all of its
    /// callers.
    func workOff(
        _ input: any PrefetchInput, endsDownloads: Bool, each: (Event) -> Void
    ) async -> PrefetchReport {
        let inbox = PrefetchInbox()
        var run = PrefetchRun(
            configuration, window: DescriptorLimit.bound(Self.window), asksOnlyHosts: asksOnlyHosts, tally)
        do {
            try await WorkerPool.exporting.run { [self] () throws(KingfisherError) in try prepare() }
            // Images that cannot be stored need not be fetched: the first one that is not cached ends the run.
            if configuration.fillsCache, !forms[0].value.onlyFromCache {
                run.obstacle = try await manager.cache.diskProblem()
            }
        } catch {
            run.stop(.failed(error))
        }
        let (answers, isStorable) = (RunAnswers(), run.obstacle == nil)
        state.withLock { state in
            state.forms = state.forms.map { form in
                form.with { options in
                    options.answers = answers
                    if !isStorable { options.onlyFromCache = true }
                }
            }
        }
        let timer = configuration.timer(configuration.deadline, .finish(.deadline)) { inbox.post([.told($0)]) }
        let number = state.withLock { state in
            inbox.post(state.orders.map { .told($0) })
            state.next += 1
            state.runs[state.next] = inbox
            return state.next
        }
        defer {
            timer?.cancel()
            state.withLock { _ = $0.runs.removeValue(forKey: number) }
        }
        await withTaskCancellationHandler {
            await workOff(input, &run, inbox, endsDownloads: endsDownloads, each: each)
        } onCancel: {
            inbox.post([.told(.stop)])
        }
        if let exporter = configuration.exporter {
            let isWhole = run.isWhole
            do throws(KingfisherError) {
                try await WorkerPool.exporting.run { () throws(KingfisherError) in
                    try exporter.finish(isWhole: isWhole)
                }
            } catch {
                run.stop(.failed(error))
            }
        }
        return run.report
    }

    /// Prepares the exporter. A run does it too; a program that calls it before learns of a problem before the run.
    /// Blocks.
    package func prepare() throws(KingfisherError) { try configuration.exporter?.prepare(forms: forms.map(\.value)) }

    private func workOff(
        _ input: any PrefetchInput, _ run: inout PrefetchRun, _ inbox: PrefetchInbox, endsDownloads: Bool,
        each: (Event) -> Void
    ) async {
        var flying = PrefetchFlights(manager, inbox)
        var timer: (end: ContinuousClock.Instant, task: Task<Void, Never>)?
        defer { timer?.task.cancel() }
        var sieve = configuration.sieve
        /// The number of items that the sieve has, or that are exported after it. They are in flight no longer: an earlier item,
        /// for which they may wait, needs a place.
        var sifted = 0
        func export(_ outcomes: [PrefetchOutcome]) {
            for outcome in outcomes {
                WorkerPool.exporting.submit { [exporter = configuration.exporter] in
                    inbox.post([.exported(exporter?.export(outcome) ?? outcome)])
                }
            }
        }
        /// Counts an outcome that the lock has seen, and tells it.
        func close(_ outcome: PrefetchOutcome) {
            run.count(outcome)
            if sieve != nil { export(sieve?.pass(outcome) ?? []) }
            each(.ended(outcome, run.progress))
        }
        /// Ends an item.
        func end(_ outcome: PrefetchOutcome) {
            // Without a lock, no copy of the outcome is made.
            if let lock = configuration.lock { close(lock.counted(outcome)) } else { close(outcome) }
        }
        /// Ends an item in flight. It is exported first if requested, unless it is retried, and exported then.
        func land(_ outcome: consuming PrefetchOutcome) {
            // An image that was made, cannot be stored and is not exported is missing like any other.
            if let obstacle = run.obstacle, configuration.exporter == nil, case .retrieved(let results) = outcome.ending
            {
                let kept = results.map { $0.isOfNoUse ? PrefetchResult(.failure(obstacle)) : $0 }
                outcome = PrefetchOutcome(
                    item: outcome.item, ending: .retrieved(kept), attempts: outcome.attempts,
                    isPinned: outcome.isPinned, steps: outcome.steps)
            }
            if configuration.exporter != nil, !run.postpones(outcome), !run.setsAside(outcome) {
                if let lock = configuration.lock { outcome = lock.checked(outcome) }
                if sieve == nil { return export([outcome]) }
                WorkerPool.exporting.submit { [outcome] in
                    inbox.post([.arrived(outcome, DuplicateSieve.Fingerprint(outcome))])
                }
            } else if let last = run.land(consume outcome) {
                end(last)
            }
        }
        var events = inbox.takeAll()
        var hasStopped = false
        var grace: Task<Void, Never>?
        defer { grace?.cancel() }
        while true {
            if let problem = configuration.exporter?.problem { run.stop(.failed(problem)) }
            for event in events {
                switch event {
                case .read(let block):
                    run.take(block).forEach(end)
                    if let error = block.broken { each(.brokenList(error)) }
                case .lookedUp(let findings): run.take(findings).forEach(end)
                case .woken: timer = nil
                case .ended(let jobs):
                    for job in jobs { if let outcome = flying.land(job) { land(outcome) } }
                case .arrived(let outcome, let fingerprint):
                    guard let outcome = run.land(outcome) else { break }
                    sifted += 1
                    export(sieve?.take(outcome, fingerprint) ?? [])
                case .exported(let outcome) where sieve != nil:
                    sifted -= 1
                    end(outcome)
                case .exported(let outcome): if let outcome = run.land(outcome) { end(outcome) }
                case .told(.finish(let reason)):
                    run.stop(reason)
                    // What is for the images waits for other processes' locks no longer than its deadline allows.
                    if reason == .deadline, !configuration.fillsCache { manager.cache.endWaiting(within: .seconds(1)) }
                case .told(.cutOff):
                    run.cutOff()
                    if !configuration.fillsCache { manager.cache.endWaiting(within: .zero) }
                    flying.cancel()
                case .told(.stop):
                    hasStopped = true
                    run.abandon()
                    for item in input.abandon() { end(item.notTried) }
                    flying.cancel()
                }
            }
            if run.isFinishing, !hasStopped {
                hasStopped = true
                grace = configuration.timer(configuration.grace, .cutOff) { inbox.post([.told($0)]) }
                input.finish()
                if endsDownloads { finishEarly() } else { flying.cancel(onlyWaiting: true) }
            }
            run.dropRest().forEach(end)
            repeat {
                flying.start(run.takeOff())
                while let items = run.toLookUp() { Task { inbox.post([.lookedUp(await look(up: items))]) } }
            } while run.resume(now: .now)
            while run.startsReading() {
                let tries = !run.isFinishing
                Task { inbox.post([.read(await block(of: input, tries: tries))]) }
            }
            each(.waiting)
            if run.isOver, sifted == 0 { return }
            if let end = run.wake, timer.map({ end < $0.end }) ?? true {
                timer?.task.cancel()
                timer = (
                    end,
                    Task {
                        // The sleep of a timer that was cancelled throws, and posts nothing.
                        if (try? await ContinuousClock().sleep(until: end)) != nil { inbox.post([.woken]) }
                    }
                )
            }
            events = await inbox.next()
        }
    }

    /// Reads the next items. Without `tries` they are only counted.
    private func block(of input: any PrefetchInput, tries: Bool) async -> PrefetchBlock {
        var block = PrefetchBlock()
        var visit: PrefetchVisit?
        if tries, let exporter = configuration.exporter {
            visit = { [self] item in exporter.visit(&item, identity: identity(of: item)) }
        }
        switch await input.next(visiting: visit) {
        case .end(let unread):
            block.isLast = true
            block.unreadLists = unread
        case .broken(let error): block.broken = error
        case .items(let items): block.items = items
        }
        return block
    }

    /// The key and the processor of an item, which distinguish its image from others.
    private func identity(of item: PrefetchItem) -> String {
        [item.cacheKey(for: forms[0].value.request) ?? "", item.processor?.identifier ?? ""].joined(separator: "@")
    }
}
