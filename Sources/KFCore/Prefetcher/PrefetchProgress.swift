/// The counts of a run, as in Kingfisher.
public struct PrefetchProgress: Sendable, Equatable {
    /// The number of items that were already cached.
    public var skipped = 0
    /// The number of items that failed.
    public var failed = 0
    /// The number of failed items whose failure was remembered, so that no request was made.
    public var remembered = 0
    /// The number of items that were brought into the cache.
    public var completed = 0
    /// The total size of the fetched images, in bytes.
    public var bytes: Int64 = 0

    init() {}

    /// The number of items that have ended.
    public var finished: Int { skipped + failed + completed }

    /// Counts the outcome of one item.
    mutating func add(_ outcome: PrefetchOutcome) {
        switch outcome.ending {
        case _ where outcome.error != nil:
            failed += 1
            if outcome.error?.isRemembered == true { remembered += 1 }
        case .skipped, .failed: skipped += 1
        case .retrieved(let results):
            let images = results.compactMap { result in
                if case .success(let image) = result.image { image } else { nil }
            }
            // The second occurrence of an item may find the image in the cache, and an expired one may serve.
            if images.allSatisfy({ [.disk, .memory, .stale].contains($0.way) }) {
                skipped += 1
            } else {
                completed += 1
            }
            for image in images where image.way == .fetched { bytes += image.facts.bytes }
        }
    }
}

/// The number or share of items that may fail before a run is given up.
public enum FailureLimit: Sendable, Equatable {
    /// The number of items that may fail.
    case count(Int)
    /// The percentage of finished items that may fail, from 0 to 100. It applies from the hundredth finished item on.
    case percent(Double)

    /// Returns whether more items have failed.
    func isPassed(by progress: PrefetchProgress) -> Bool {
        switch self {
        case .count(let limit): progress.failed > limit
        case .percent(let limit):
            progress.finished >= 100 && Double(progress.failed) * 100 > limit * Double(progress.finished)
        }
    }
}

/// The report of a run.
public struct PrefetchReport: Sendable {
    /// The reason for the end of a run.
    public enum Ending: Sendable, Equatable {
        /// All items have been tried, or the run was ended by its caller.
        case finished
        /// More items failed than ``ImagePrefetcher/Configuration/maxFailures`` allows.
        case tooManyFailures
        /// The deadline passed.
        case deadline
        /// An error made the run stop, usually of the cache.
        case failed(KingfisherError)
    }

    /// The counts at the end.
    public var progress = PrefetchProgress()
    /// The reason for the end.
    public var ending = Ending.finished
    /// The number of lists that could not be read to their end.
    public var brokenLists = 0
}

/// The outcome of one item.
public struct PrefetchOutcome: Sendable {
    /// The end of an item.
    public enum Ending: Sendable {
        /// It was already cached, in each of its forms.
        case skipped([StoredFile])
        /// It was retrieved. The results are in the order of the options.
        case retrieved([PrefetchResult])
        /// It could not be tried.
        case failed(KingfisherError)
    }

    /// The item.
    public let item: PrefetchItem
    /// The end of the item.
    public let ending: Ending
    /// The number of requests made, retries included.
    public var attempts = 0

    /// The first error; nil if all forms succeeded.
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

/// The result for one form of an item.
public struct PrefetchResult: Sendable {
    /// The retrieved image, or the error.
    public let image: Result<RetrieveImageResult, KingfisherError>
    /// The path of the exported copy; nil if there is none.
    public var output: String?
    /// The error of storing or exporting a retrieved image.
    var problem: KingfisherError?

    init(_ image: Result<RetrieveImageResult, KingfisherError>) {
        self.image = image
        // An image that was not stored does not warm the cache, so it counts as failed.
        if case .success(let result) = image { problem = result.storing.diskError }
    }

    /// Whether a copy was written, or the image has warnings.
    package var isWorthTelling: Bool {
        guard output == nil, case .success(let result) = image else { return output != nil }
        return !result.warnings.isEmpty
    }

    /// The error of retrieving, storing or exporting; nil if all succeeded.
    public var error: KingfisherError? {
        if case .failure(let error) = image { return error }
        return problem
    }
}
