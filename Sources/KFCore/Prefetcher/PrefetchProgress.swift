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

/// How one item ended.
public struct PrefetchOutcome: Sendable {
    /// How an item can end.
    public enum Ending: Sendable {
        /// It was in the cache already, in each of its forms.
        case skipped([StoredFile])
        /// It was retrieved: a result for each of its forms, in the order of the options.
        case retrieved([PrefetchResult])
        /// There was nothing to retrieve.
        case failed(KingfisherError)
    }

    /// The item.
    public let item: PrefetchItem
    /// How it ended.
    public let ending: Ending
    /// Requests made, repetitions included.
    public var attempts = 0

    /// The first that went wrong.
    public var error: KingfisherError? {
        switch ending {
        case .skipped: return nil
        case .failed(let error): return error
        case .retrieved(let results):
            for result in results {
                if let error = result.error { return error }
            }
            return nil
        }
    }
}

/// One of the forms of an item.
public struct PrefetchResult: Sendable {
    /// What was retrieved, or why it was not.
    public let image: Result<RetrieveImageResult, KingfisherError>
    /// The copy that was written of it, if one was to be.
    public var output: String?
    /// What went wrong after it had come.
    var problem: KingfisherError?

    init(_ image: Result<RetrieveImageResult, KingfisherError>) {
        self.image = image
        // What could be fetched and not stored is no use to who wants a warm cache.
        if case .success(let result) = image { problem = result.storing.diskError }
    }

    /// Why it was not retrieved, not stored, or not copied; nil when all is well.
    public var error: KingfisherError? {
        if case .failure(let error) = image { return error }
        return problem
    }
}
