/// Where a prefetch stands. It decides what comes next; the prefetcher does it.
struct PrefetchRun {
    /// In flight at most: bytes of the items' records.
    private static let mostBytes = 8 << 20
    /// Blocks that are read at once: while one is looked up, the next is understood.
    private static let readers = 2
    /// Items that may be postponed at once.
    private static let mostPostponed = 8192

    private(set) var report = PrefetchReport()
    private let maxFailures: FailureLimit?
    /// Items in flight and read at most, and those in flight.
    private let window: Int
    private(set) var inFlight = 0
    /// Sources in flight at most, in all and of one host; nil leaves it to the downloader.
    private let limits: PrefetchLimits
    private var hosts: [String: Int] = [:]
    private var bytes = 0
    /// What could not be stored because another process had the cache locked: each has a second turn at the end.
    private var postponed: [PrefetchOutcome] = []
    private var reading = 0
    /// Read, and not started.
    private var waiting: ArraySlice<PrefetchWish> = []
    private var isAtEnd = false
    private var isFinishing = false
    private var isCutOff = false
    private var isAbandoned = false

    init(window: Int, limits: PrefetchLimits = PrefetchLimits(), maxFailures: FailureLimit?) {
        self.window = max(1, window)
        self.limits = limits
        self.maxFailures = maxFailures
    }

    var progress: PrefetchProgress { report.progress }

    var isOver: Bool { hasNothingToStart && postponed.isEmpty }

    private var hasNothingToStart: Bool { reading == 0 && isAtEnd && inFlight == 0 && waiting.isEmpty }

    /// Takes a block of the lists in, or the cache's failure to look it up. Gives what came too late to have a turn, and
    /// is to be counted.
    @discardableResult
    mutating func take(_ result: Result<PrefetchBlock, KingfisherError>) -> [PrefetchItem] {
        reading -= 1
        switch result {
        case .success(let block):
            if block.broken != nil { report.brokenLists += 1 }
            if block.isLast { isAtEnd = true }
            if isAbandoned { return block.missing.map(\.item) }
            if !isFinishing { waiting += block.missing }
        case .failure(let error): stop(.failed(error))
        }
        return []
    }

    /// What is to be started now, as far as there is room.
    mutating func takeOff() -> ArraySlice<PrefetchWish> {
        let some = limits.perHost == nil ? waiting.prefix(room) : takeTurns()
        if limits.perHost == nil { waiting = waiting.dropFirst(some.count) }
        // What has been taken off is not held by the rest.
        if waiting.isEmpty { waiting = [] }
        inFlight += some.count
        for wish in some { bytes += wish.item.record.count }
        return some
    }

    private var room: Int { max(0, min(window, limits.total ?? window) - inFlight) }

    /// Takes the first that wait and whose hosts have a place free. What has no host waits for none.
    private mutating func takeTurns() -> ArraySlice<PrefetchWish> {
        let (room, perHost) = (room, limits.perHost ?? .max)
        guard room > 0 else { return [] }
        var some: [PrefetchWish] = []
        var others: [PrefetchWish] = []
        for wish in waiting {
            let host = wish.item.host
            guard some.count < room, host.map({ hosts[$0, default: 0] < perHost }) ?? true else {
                others.append(wish)
                continue
            }
            if let host { hosts[host, default: 0] += 1 }
            some.append(wish)
        }
        waiting = others[...]
        return some[...]
    }

    private mutating func leave(_ host: String?) {
        guard limits.perHost != nil, let host, let count = hosts[host] else { return }
        hosts[host] = count > 1 ? count - 1 : nil
    }

    /// An item that was in flight has ended; false when it had not really begun and is not to be counted.
    mutating func land(_ outcome: PrefetchOutcome) -> Bool {
        inFlight -= 1
        bytes -= outcome.item.record.count
        leave(outcome.item.host)
        // What waited for its connection when the end came has not failed; what was cut off has.
        if isFinishing, !isCutOff, outcome.error?.isCancellation == true { return false }
        if let error = outcome.error, error.isLocked, !isFinishing, !outcome.item.isPostponed,
            postponed.count < Self.mostPostponed
        {
            // The image itself is not kept meanwhile.
            postponed.append(PrefetchOutcome(item: outcome.item, ending: .failed(error), attempts: outcome.attempts))
            return false
        }
        count(outcome)
        return true
    }

    /// Gives what was postponed its second turn, once nothing else is left.
    mutating func retryPostponed() {
        guard hasNothingToStart, !isFinishing else { return }
        for outcome in postponed {
            var item = outcome.item
            item.isPostponed = true
            waiting.append(PrefetchWish(item: item))
        }
        postponed = []
    }

    /// What was postponed and has no second turn any more; the caller counts it.
    mutating func dropPostponed() -> [PrefetchOutcome] {
        defer { postponed = [] }
        return postponed
    }

    mutating func count(_ outcome: PrefetchOutcome) {
        report.progress.add(outcome)
        guard let error = outcome.error else { return }
        if error.isCacheFailure, !error.isAboutOneImage, !error.isLocked {
            stop(.failed(error))
        } else if maxFailures?.isPassed(by: progress) == true {
            stop(.tooManyFailures)
        }
    }

    /// True when one more block is to be read now.
    mutating func startsReading() -> Bool {
        guard reading < Self.readers, !isAtEnd, inFlight + waiting.count < window, bytes < Self.mostBytes else {
            return false
        }
        reading += 1
        return true
    }

    /// Nothing new is to be started. The first reason is the one that is reported.
    mutating func stop(_ reason: PrefetchReport.Ending) {
        if report.ending == .finished { report.ending = reason }
        isFinishing = true
        isAtEnd = true
        waiting = []
    }

    /// What is in flight has had its time.
    mutating func cutOff() { isCutOff = true }

    /// Somebody has given up: nothing new is to be started, and what was to come counts as failed. Gives what waits.
    mutating func abandon() -> [PrefetchItem] {
        isAbandoned = true
        isCutOff = true
        isFinishing = true
        isAtEnd = true
        defer { waiting = [] }
        return waiting.map(\.item)
    }

    var isStopping: Bool { isFinishing }
}

/// Some items of the lists, and what the cache has of them.
struct PrefetchBlock: Sendable {
    var ended: [PrefetchOutcome] = []
    var missing: [PrefetchWish] = []
    /// A list that cannot be read, or not to its end.
    var broken: KingfisherError?
    var isLast = false
}

/// An item that is to be brought.
struct PrefetchWish: Sendable {
    private(set) var item: PrefetchItem
    /// Of each of its forms; empty when nobody has looked for it.
    var retrievals: [Retrieval] = []
    /// The cache has been asked for its only form, and has nothing that could serve.
    var isKnownMissing = false

    init(item: PrefetchItem) { self.item = item }

    /// See `PrefetchItem.detach`.
    mutating func detach() { item.detach() }
}

/// How many sources a run asks at once. What its downloader keeps by itself is nil: its queue then holds what waits, so
/// that a connection that falls idle goes on at once.
struct PrefetchLimits: Sendable {
    var total: Int?
    var perHost: Int?

    init(total: Int? = nil, perHost: Int? = nil) {
        self.total = total.map { max(1, $0) }
        self.perHost = perHost.map { max(1, $0) }
    }

    /// The downloader keeps them all.
    var areWide: Bool { total == nil && perHost == nil }
}
