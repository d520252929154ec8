/// Kingfisher's counts.
public struct PrefetchProgress: Sendable, Equatable {
    /// In the cache already.
    public var skipped = 0
    /// Neither in the cache nor brought there.
    public var failed = 0
    /// Brought into the cache.
    public var completed = 0
    /// Of the images that were fetched.
    public var bytes: Int64 = 0

    init() {}

    /// All that have ended.
    public var finished: Int { skipped + failed + completed }

    /// Takes in how one more item ended.
    mutating func add(_ outcome: PrefetchOutcome) {
        switch outcome.ending {
        case _ where outcome.error != nil: failed += 1
        case .skipped, .failed: skipped += 1
        case .retrieved(let results):
            let images = results.compactMap { result in
                if case .success(let image) = result.image { image } else { nil }
            }
            // An item that came twice is in the cache when its turn comes again.
            if images.allSatisfy({ $0.way == .disk || $0.way == .memory }) { skipped += 1 } else { completed += 1 }
            for image in images where image.way == .fetched { bytes += image.facts.bytes }
        }
    }
}

/// How many items may fail before a run is given up.
public enum FailureLimit: Sendable, Equatable {
    /// So many may fail.
    case count(Int)
    /// Of the finished items, from 0 to 100; looked at from the hundredth on.
    case percent(Double)

    /// True when more have failed than that.
    func isPassed(by progress: PrefetchProgress) -> Bool {
        switch self {
        case .count(let limit): progress.failed > limit
        case .percent(let limit):
            progress.finished >= 100 && Double(progress.failed) * 100 > limit * Double(progress.finished)
        }
    }
}

/// How a run ended.
public struct PrefetchReport: Sendable {
    /// Why a run ended.
    public enum Ending: Sendable, Equatable {
        /// Every wish has had its turn, or somebody asked it to end.
        case finished
        /// More failed than `maxFailures` allows.
        case tooManyFailures
        /// The time was over.
        case deadline
        /// What stood in the way of going on.
        case failed(KingfisherError)
    }

    /// The counts at the end.
    public var progress = PrefetchProgress()
    /// Why it ended.
    public var ending = Ending.finished
    /// Lists that could not be read, or not to their end.
    public var brokenLists = 0
}
