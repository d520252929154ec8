import KFLists
import KFPipeline
import KFTerms

/// The state of a run. It decides on the next actions, and the prefetcher performs them.
struct PrefetchRun {
    /// The number of blocks that are read, and the number of those that are looked up at once: while one is on its way, the
    /// next one is made.
    private static let readers = 2
    private static let lookers = 2
    /// The time after which a run with nothing else to do waits no longer for a pipe before it fails what was set aside.
    private static let patience = Duration.milliseconds(100)
    /// The maximum number of postponed items.
    private static let mostPostponed = 8192

    private(set) var report = PrefetchReport()
    private let maxFailures: FailureLimit?
    private let fillsCache: Bool
    private let tally: RunTally
    /// The counts of the tally before the run.
    private let before: (bytes: Int64, remoteBytes: Int64)
    /// The reason why nothing can be stored; only the cache is used then.
    var obstacle: KingfisherError?
    /// Whether an item that its host's open circuit refuses has no other source.
    private let asksOnlyHosts: Bool
    private var lines: HostLines
    /// The items that failed because another process held a lock of the cache. They are retried once at the end.
    private var postponed: [PrefetchOutcome] = []
    private var reading = 0
    private var looking = 0
    /// The time since which the run has had nothing to do but what was set aside.
    private var stuck: ContinuousClock.Instant?
    /// The order in which items end; nil without a limit on it.
    private var order: EndingOrder?
    private var isAtEnd = false
    private var hasReadAll = false
    /// Whether nothing starts any more.
    private(set) var isFinishing = false
    private var isCutOff = false

    /// Creates the state of a run with at most `window` items in flight. With `asksOnlyHosts`, its items have neither mirrors
    /// nor alternatives.
    init(
        _ configuration: ImagePrefetcher.Configuration, window: Int, asksOnlyHosts: Bool = true,
        _ tally: RunTally = RunTally()
    ) {
        self.tally = tally
        before = (tally.bytes, tally.remoteBytes)
        lines = HostLines(
            window: max(1, min(window, configuration.maxConcurrentDownloads)),
            perHost: configuration.maxPerHost == .max ? nil : max(1, configuration.maxPerHost))
        self.asksOnlyHosts = asksOnlyHosts
        maxFailures = configuration.maxFailures
        fillsCache = configuration.fillsCache
        order = [configuration.maxItemsAhead, configuration.exporter?.maxItemsAhead].compactMap(\.self).min().map {
            EndingOrder(limit: max(1, $0))
        }
    }

    var progress: PrefetchProgress {
        var progress = report.progress
        progress.outlook.waiting = lines.inFlight + lines.ready
        return progress
    }

    /// Whether nothing is left to read, to start or to end.
    var isOver: Bool { isAtEnd && isIdle && postponed.isEmpty }

    /// Whether all items of the lists were read and tried.
    var isWhole: Bool { hasReadAll && report.brokenLists == 0 && report.progress.notTried == 0 }

    private var isIdle: Bool { reading == 0 && lines.isEmpty }

    var inFlight: Int { lines.inFlight }

    /// Takes a block of the lists. Returns the outcomes of items that came too late, for counting: they were not tried.
    @discardableResult
    mutating func take(_ block: PrefetchBlock) -> [PrefetchOutcome] {
        reading -= 1
        order?.read(block)
        if block.broken != nil { report.brokenLists += 1 }
        if block.isLast {
            isAtEnd = true
            hasReadAll = block.unreadLists == 0
            report.unreadLists = block.unreadLists
        }
        if isFinishing { return block.items.map(\.notTried) }
        lines.add(block.items)
        return []
    }

    /// Returns the items to look up now; nil if there are none.
    mutating func toLookUp() -> [PrefetchItem]? {
        guard !isFinishing, looking < Self.lookers else { return nil }
        let items = lines.toLookUp(missingShare: report.progress.outlook.missingShare)
        if items.isEmpty { return nil }
        looking += 1
        return items
    }

    /// Takes what a look-up found. Returns the outcomes of its items that have ended, for counting.
    @discardableResult
    mutating func take(_ findings: PrefetchFindings) -> [PrefetchOutcome] {
        looking -= 1
        if let problem = findings.problem { stop(.failed(problem)) }
        lines.lookedUp(findings.ended)
        if isFinishing {
            let untried = (findings.untried + findings.missing.map(\.item)).map(\.notTried)
            lines.lookedUp(untried)
            return untried + findings.ended
        }
        lines.lookedUp(findings.missing)
        report.progress.outlook.add(
            missing: findings.missing.count, of: findings.missing.count + findings.ended.count,
            isLookedUp: findings.isLookedUp)
        return findings.ended
    }

    /// Returns the items to start now.
    mutating func takeOff() -> [PrefetchWish] { isFinishing ? [] : lines.toStart() }

    /// Removes an item from those in flight, and returns the outcome to count; nil if it was put off.
    mutating func land(_ outcome: consuming PrefetchOutcome, now: ContinuousClock.Instant = .now) -> PrefetchOutcome? {
        tally.remove(outcome.steps)
        if setsAside(outcome), let span = outcome.error?.circuitSpan {
            lines.setAside(outcome.item, until: now + span)
            return nil
        }
        lines.landed(outcome.item)
        // An item that still waited for a connection at the early end was not tried. One that was cut off was.
        if fillsCache, isFinishing, !isCutOff, outcome.error?.isCancellation == true {
            return outcome.item.notTried
        }
        if let error = outcome.error, postpones(outcome) {
            // The outcome is kept without the image.
            postponed.append(PrefetchOutcome(item: outcome.item, ending: .failed(error), attempts: outcome.attempts))
            return nil
        }
        return outcome
    }

    /// Returns whether an outcome is not the last one of its item, because the item will be retried.
    func postpones(_ outcome: PrefetchOutcome) -> Bool {
        fillsCache && outcome.error?.isLocked == true && !isFinishing && !outcome.item.wasPostponed
            && postponed.count < Self.mostPostponed
    }

    /// Returns whether an item is tried again when its host's circuit lets a request try, because nothing was asked for it.
    func setsAside(_ outcome: PrefetchOutcome) -> Bool {
        asksOnlyHosts && outcome.attempts == 0 && outcome.error?.circuitSpan != nil && !isFinishing
            && lines.setsAside(outcome.item)
    }

    /// Lets items go on that were put off: those set aside at their time, or once the run has nothing else to do, and those that
    /// met a lock at the end, or where nothing else may be read before. Returns whether there may be more to start.
    mutating func resume(now: ContinuousClock.Instant) -> Bool {
        if isFinishing { return false }
        lines.open(now: now)
        let isHeldUp = reading == 0 && isAtEnd || order?.isAtLimit() == true
        if isIdle, isHeldUp, !postponed.isEmpty {
            lines.add(
                postponed.map { outcome in
                    var item = outcome.item
                    item.wasPostponed = true
                    return item
                })
            postponed = []
            return true
        }
        if lines.isStuck {
            let since = stuck ?? now
            stuck = since
            if isHeldUp || lines.isFull || since + Self.patience <= now {
                lines.release(all: true)
                return true
            }
        } else {
            stuck = nil
            // Those that have waited longest make room for others.
            if lines.isFull, lines.opening != nil {
                lines.release(all: false)
                return true
            }
        }
        return false
    }

    /// The time at which `resume` has something to do.
    var wake: ContinuousClock.Instant? {
        if isFinishing { return nil }
        return [lines.opening, stuck.map { $0 + Self.patience }].compactMap(\.self).min()
    }

    /// Removes what will not start any more, and returns its outcomes for counting.
    mutating func dropRest() -> [PrefetchOutcome] {
        if !isFinishing { return [] }
        defer { postponed = [] }
        return postponed + lines.dropAll().map(\.notTried)
    }

    mutating func count(_ outcome: PrefetchOutcome) {
        order?.end(outcome.item.position)
        let skipped = report.progress.skipped
        report.progress.add(outcome)
        report.progress.bytes = tally.bytes - before.bytes
        report.progress.remoteBytes = tally.remoteBytes - before.remoteBytes
        if !report.progress.outlook.isLookedUp, !isFinishing {
            let isMissing = report.progress.skipped == skipped
            report.progress.outlook.add(missing: isMissing ? 1 : 0, of: 1, isLookedUp: false)
        }
        guard let error = outcome.error else { return }
        if let obstacle, error.isMiss {
            stop(.failed(obstacle))
        } else if fillsCache, error.isCacheFailure, !error.isAboutOneImage, !error.isLocked {
            stop(.failed(error))
        } else if maxFailures?.isReached(by: progress) == true {
            stop(.tooManyFailures)
        }
    }

    /// Returns whether another block should be read now.
    mutating func startsReading() -> Bool {
        let readers = isFinishing ? 1 : Self.readers
        guard reading < readers, !isAtEnd,
            isFinishing || lines.wantsItems && order?.isAtLimit(reading: reading) != true
        else { return false }
        reading += 1
        return true
    }

    /// Stops starting items. The report has the first reason. What is left of the lists is read to be counted.
    mutating func stop(_ reason: PrefetchReport.Ending) {
        if report.ending == .finished { report.ending = reason }
        isFinishing = true
    }

    /// Notes that the time for items in flight is over.
    mutating func cutOff() { isCutOff = true }

    /// Gives up the run: nothing more is read, and items in flight count as cancelled.
    mutating func abandon() {
        isCutOff = true
        isFinishing = true
        isAtEnd = true
    }
}

/// The items from the first one that has not ended to the last one that was read.
private struct EndingOrder {
    /// The maximum size of their records, in bytes.
    private static let mostBytes = 64 << 20

    private let limit: Int
    /// The position of the first item that has not ended, and the positions after it that have.
    private var first = 1
    private var ended: Set<Int> = []
    private var last = 0
    /// The sizes of the records, and their sum.
    private var sizes: [Int: Int] = [:]
    private var bytes = 0

    init(limit: Int) { self.limit = limit }

    /// Returns whether no more may be read. Each block that is being read has at least one item.
    func isAtLimit(reading: Int = 0) -> Bool { last - first + 1 + reading >= limit || bytes >= Self.mostBytes }

    mutating func read(_ block: PrefetchBlock) {
        for item in block.items { read(item) }
    }

    private mutating func read(_ item: PrefetchItem) {
        last = max(last, item.position)
        sizes[item.position] = item.size
        bytes += item.size
    }

    mutating func end(_ position: Int) {
        ended.insert(position)
        while ended.remove(first) != nil {
            bytes -= sizes.removeValue(forKey: first) ?? 0
            first += 1
        }
    }
}

extension KingfisherError {
    /// The time for which the host is not asked, of an error of its open circuit.
    fileprivate var circuitSpan: Duration? {
        if case .responseError(reason: .circuitOpen(_, let seconds)) = self { .seconds(max(1, seconds)) } else { nil }
    }
}

extension PrefetchItem {
    /// The outcome of an item that was not tried.
    var notTried: PrefetchOutcome { PrefetchOutcome(item: self, ending: .notTried) }
}
