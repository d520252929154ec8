/// Some lines of a list, and what the cache has of them.
struct PrefetchBlock: Sendable {
    var ended: [PrefetchOutcome] = []
    var missing: [PrefetchItem] = []
    let isLast: Bool

    init(isLast: Bool) { self.isLast = isLast }
}

/// Where a prefetch stands. It decides what comes next; the prefetcher does it.
struct PrefetchRun {
    private(set) var progress = PrefetchProgress()
    /// Why the run has to stop.
    private(set) var failure: KingfisherError?
    private var missing: ArraySlice<PrefetchItem> = []
    private var inFlight = 0
    private var isReading = true
    private var isAtEnd = false
    private var isFinishing = false

    /// Takes a block of the list in; gives back the items that have ended already.
    mutating func take(_ result: Result<PrefetchBlock, KingfisherError>) -> [PrefetchOutcome] {
        isReading = false
        switch result {
        case .success(let block):
            isAtEnd = block.isLast
            if failure == nil { missing = block.missing[...] }
            return block.ended
        case .failure(let error):
            stop(error)
            return []
        }
    }

    /// An item that was in flight has ended; nil when it had not really begun and is not to be counted.
    mutating func land(_ outcome: PrefetchOutcome) -> PrefetchProgress? {
        inFlight -= 1
        if isFinishing, case .failed(let error) = outcome.ending, error.isCancellation { return nil }
        return count(outcome)
    }

    mutating func count(_ outcome: PrefetchOutcome) -> PrefetchProgress {
        switch outcome.ending {
        case .skipped: progress.skipped += 1
        case .failed(let error):
            progress.failed += 1
            if error.isCacheFailure, !error.isAboutOneImage { stop(error) }
        case .completed(let result):
            progress.completed += 1
            progress.bytes += result.facts.bytes
        }
        return progress
    }

    /// The next item to start, if there is one and room for it.
    mutating func takeOff(limit: Int) -> PrefetchItem? {
        guard inFlight < limit, let item = missing.popFirst() else { return nil }
        inFlight += 1
        return item
    }

    /// True when the next block is to be read now.
    mutating func startsReading() -> Bool {
        guard !isReading, !isAtEnd, missing.isEmpty else { return false }
        isReading = true
        return true
    }

    /// Nothing new is to be started.
    mutating func finishEarly() {
        isFinishing = true
        isAtEnd = true
        missing = []
    }

    private mutating func stop(_ error: KingfisherError) {
        failure = failure ?? error
        finishEarly()
    }
}
