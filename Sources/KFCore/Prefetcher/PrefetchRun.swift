import KFLists
import KFPipeline
import KFTerms

/// The state of a run. It decides on the next actions, and the prefetcher performs them.
struct PrefetchRun {
    /// The maximum size of the records in flight, in bytes.
    private static let mostBytes = 8 << 20
    /// The number of blocks that are read at once: while one is looked up, the next is parsed.
    private static let readers = 2
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
    /// The maximum number of items in flight or waiting, and the number in flight.
    private let window: Int
    private(set) var inFlight = 0
    /// The maximum number of items in flight per host, and those that are; nil leaves the limit to the downloader.
    private let perHost: Int?
    private var hosts: [String: Int] = [:]
    private var bytes = 0
    /// The items that failed because another process held a lock of the cache. They are retried once at the end.
    private var postponed: [PrefetchOutcome] = []
    private var reading = 0
    /// The items that have been read and not started.
    private var waiting: ArraySlice<PrefetchWish> = []
    /// The order in which items end; nil without a limit on it.
    private var order: EndingOrder?
    private var isAtEnd = false
    private var hasReadAll = false
    /// Whether nothing starts any more.
    private(set) var isFinishing = false
    private var isCutOff = false

    /// Creates the state of a run with at most `window` items in flight.
    init(_ configuration: ImagePrefetcher.Configuration, window: Int, _ tally: RunTally = RunTally()) {
        self.tally = tally
        before = (tally.bytes, tally.remoteBytes)
        self.window = max(1, min(window, configuration.maxConcurrentDownloads))
        perHost = configuration.maxPerHost == .max ? nil : max(1, configuration.maxPerHost)
        maxFailures = configuration.maxFailures
        fillsCache = configuration.fillsCache
        order = [configuration.maxItemsAhead, configuration.exporter?.maxItemsAhead].compactMap(\.self).min().map {
            EndingOrder(limit: max(1, $0))
        }
    }

    var progress: PrefetchProgress {
        var progress = report.progress
        progress.outlook.waiting = inFlight + waiting.count
        return progress
    }

    /// Whether nothing is left to read, to start or to end.
    var isOver: Bool { isAtEnd && isIdle && postponed.isEmpty }

    /// Whether all items of the lists were read and tried.
    var isWhole: Bool { hasReadAll && report.brokenLists == 0 && report.progress.notTried == 0 }

    private var isIdle: Bool { reading == 0 && inFlight == 0 && waiting.isEmpty }

    /// Takes a block of the lists. Returns the outcomes of its items that have ended, for counting. Those that came too
    /// late were not tried.
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
        if let problem = block.problem { stop(.failed(problem)) }
        if isFinishing { return (block.untried + block.missing.map(\.item)).map(\.notTried) + block.ended }
        report.progress.outlook.add(
            missing: block.missing.count, of: block.missing.count + block.ended.count, isLookedUp: block.isLookedUp)
        // The storage of the block is taken over if nothing waits.
        if waiting.isEmpty { waiting = block.missing[...] } else { waiting += block.missing }
        return block.ended
    }

    /// Returns the items to start now.
    mutating func takeOff() -> ArraySlice<PrefetchWish> {
        if isFinishing { return [] }
        let some = perHost.map { takeTurns(room, $0)[...] } ?? waiting.prefix(room)
        if perHost == nil { waiting = waiting.dropFirst(some.count) }
        // Releases the storage of the items that have been taken.
        if waiting.isEmpty { waiting = [] }
        inFlight += some.count
        for index in some.indices { bytes += some[index].item.facts.record.count }
        return some
    }

    private var room: Int { max(0, window - inFlight) }

    /// Takes the first waiting items whose hosts have a free place. Items without a host need none.
    private mutating func takeTurns(_ room: Int, _ perHost: Int) -> [PrefetchWish] {
        var (some, hosts) = ([PrefetchWish](), hosts)
        waiting.removeAll { wish in
            if some.count == room { return false }
            if let host = wish.item.host {
                if hosts[host, default: 0] >= perHost { return false }
                hosts[host, default: 0] += 1
            }
            some.append(wish)
            return true
        }
        self.hosts = hosts
        return some
    }

    /// Removes an item from those in flight, and returns the outcome to count; nil if it was postponed.
    mutating func land(_ outcome: consuming PrefetchOutcome) -> PrefetchOutcome? {
        inFlight -= 1
        tally.remove(outcome.steps)
        bytes -= outcome.item.facts.record.count
        if perHost != nil, let host = outcome.item.host, let count = hosts[host] {
            hosts[host] = count > 1 ? count - 1 : nil
        }
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
        fillsCache && outcome.error?.isLocked == true && !isFinishing && !outcome.item.isPostponed
            && postponed.count < Self.mostPostponed
    }

    /// Retries the postponed items once nothing else is left, or nothing else may be read before they have ended.
    mutating func retryPostponed() {
        guard isIdle, isAtEnd || order?.isAtLimit() == true, !isFinishing else { return }
        for outcome in postponed {
            var item = outcome.item
            item.isPostponed = true
            waiting.append(PrefetchWish(item: item))
        }
        postponed = []
    }

    /// Removes what will not start any more, and returns its outcomes for counting.
    mutating func dropRest() -> [PrefetchOutcome] {
        if !isFinishing { return [] }
        defer { (postponed, waiting) = ([], []) }
        return postponed + waiting.map(\.item.notTried)
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
        guard reading < readers, !isAtEnd, inFlight + waiting.count < window, bytes < Self.mostBytes,
            isFinishing || order?.isAtLimit(reading: reading) != true
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
        for item in block.missing.lazy.map(\.item) { read(item) }
        for item in block.ended.lazy.map(\.item) { read(item) }
    }

    private mutating func read(_ item: PrefetchItem) {
        last = max(last, item.position)
        sizes[item.position] = item.record.count
        bytes += item.record.count
    }

    mutating func end(_ position: Int) {
        ended.insert(position)
        while ended.remove(first) != nil {
            bytes -= sizes.removeValue(forKey: first) ?? 0
            first += 1
        }
    }
}

extension PrefetchItem {
    /// The outcome of an item that was not tried.
    var notTried: PrefetchOutcome { PrefetchOutcome(item: self, ending: .notTried) }
}
