/// Where a prefetch stands. It decides what comes next; the prefetcher does it.
struct PrefetchRun {
    /// Read ahead at most: items, and bytes of them.
    private static let ahead = 8192
    private static let aheadBytes = 8 << 20
    /// Blocks that are read at once: while one is looked up, the next is understood.
    private static let readers = 2

    private(set) var report = PrefetchReport()
    private let maxFailures: FailureLimit?
    private var turns: HostTurns
    private var reading = 0
    private var isAtEnd = false
    private var isFinishing = false
    private var isCutOff = false
    private var isAbandoned = false

    init(turns: HostTurns, maxFailures: FailureLimit?) {
        self.turns = turns
        self.maxFailures = maxFailures
    }

    var progress: PrefetchProgress { report.progress }

    var isOver: Bool { reading == 0 && isAtEnd && turns.inFlight == 0 && turns.waiting == 0 }

    /// Takes a block of the lists in, or the cache's failure to look it up. Gives what came too late to have a turn, and
    /// is to be counted.
    @discardableResult
    mutating func take(_ result: Result<PrefetchBlock, KingfisherError>) -> [PrefetchItem] {
        reading -= 1
        switch result {
        case .success(let block):
            if block.broken != nil { report.brokenLists += 1 }
            if block.isLast { isAtEnd = true }
            if isAbandoned { return block.missing }
            if !isFinishing { for item in block.missing { turns.add(item) } }
        case .failure(let error): stop(.failed(error))
        }
        return []
    }

    /// An item that was in flight has ended; false when it had not really begun and is not to be counted.
    mutating func land(_ outcome: PrefetchOutcome) -> Bool {
        turns.land(host: outcome.item.host)
        // What waited for its connection when the end came has not failed; what was cut off has.
        if isFinishing, !isCutOff, outcome.error?.isCancellation == true { return false }
        count(outcome)
        return true
    }

    mutating func count(_ outcome: PrefetchOutcome) {
        report.progress.add(outcome)
        guard let error = outcome.error else { return }
        if error.isCacheFailure, !error.isAboutOneImage {
            stop(.failed(error))
        } else if maxFailures?.isPassed(by: progress) == true {
            stop(.tooManyFailures)
        }
    }

    /// The next item to start, if there is one and room for it.
    mutating func takeOff() -> PrefetchItem? { turns.next() }

    /// True when one more block is to be read now.
    mutating func startsReading() -> Bool {
        guard reading < Self.readers, !isAtEnd, turns.waiting < Self.ahead, turns.bytes < Self.aheadBytes else {
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
        turns.dropWaiting()
    }

    /// What is in flight has had its time.
    mutating func cutOff() { isCutOff = true }

    /// Somebody has given up: nothing new is to be started, and what was to come counts as failed. Gives what waits.
    mutating func abandon() -> [PrefetchItem] {
        isAbandoned = true
        isCutOff = true
        isFinishing = true
        isAtEnd = true
        return turns.dropWaiting()
    }

    var isStopping: Bool { isFinishing }
}
