import KFLists
import KFPipeline
import KFTerms

/// The counts of a run, as in Kingfisher.
public struct PrefetchProgress: Sendable, Equatable {
    /// The number of items that were already cached.
    public var skipped = 0
    /// The number of skipped items that an earlier run has exported. Those whose failure it has recorded count as failed.
    public var exported = 0
    /// The number of items that failed.
    public var failed = 0
    /// The number of items whose images the filter refused. They have not failed.
    public var filtered = 0
    /// The number of items whose servers opted out. They have not failed.
    public var optedOut = 0
    /// The number of items that are duplicates of earlier ones. They have not failed.
    public var duplicates = 0
    /// The number of failed items whose failure was remembered, so that no request was made.
    public var remembered = 0
    /// The number of items that were brought into the cache, derived and revalidated ones included.
    public var completed = 0
    /// The number of completed items that were made from cached originals, without a request.
    public var derived = 0
    /// The number of completed items that came from a remote.
    public var remote = 0
    /// The number of completed items that the origin confirmed.
    public var revalidated = 0
    /// The number of items that were cut off in their transfer, at the end of a run. They have not failed.
    public var cancelled = 0
    /// The number of items that were not tried because the run ended before.
    public var notTried = 0
    /// The number of exported files that were written, also of items that failed.
    public var written = 0
    /// The total size of the written files, in bytes.
    public var writtenBytes: Int64 = 0
    /// The number of exported files that had the same bytes already.
    public var unchanged = 0
    /// The number of body bytes that origins sent, those of failed and cancelled transfers included.
    public var bytes: Int64 = 0
    /// The number of bytes of images that remotes sent.
    public var remoteBytes: Int64 = 0
    package var outlook = PrefetchOutlook()

    package init() {}

    /// The number of completed items that came from their origin.
    public var fetched: Int { completed - derived - revalidated - remote }

    /// The number of items that have ended.
    public var finished: Int { skipped + failed + filtered + optedOut + duplicates + completed + cancelled + notTried }

    /// Counts the outcome of one item.
    mutating func add(_ outcome: PrefetchOutcome) {
        add(outcome.ending, outcome.error, isExported: outcome.item.isExported)
    }

    package mutating func add(_ ending: PrefetchOutcome.Ending, _ error: KingfisherError?, isExported: Bool = false) {
        // A failed item may have copies: of other forms, of an image that was not stored, or in place of one that failed.
        if case .retrieved(let results) = ending {
            for index in results.indices {
                guard let copy = results[index].copy else { continue }
                if copy.state == .written { (written, writtenBytes) = (written + 1, writtenBytes + copy.facts.bytes) }
                if copy.state == .unchanged { unchanged += 1 }
            }
        }
        if case .notTried = ending {
            notTried += 1
        } else if let error {
            if error.isCancellation { return cancelled += 1 }
            if case .responseError(reason: .filtered) = error { return filtered += 1 }
            if case .responseError(reason: .duplicate) = error { return duplicates += 1 }
            if error.isLeftOut { return optedOut += 1 }
            failed += 1
            if error.isRemembered { remembered += 1 }
        } else if case .retrieved(let results) = ending {
            add(results)
        } else {
            skipped += 1
            if isExported { exported += 1 }
        }
    }

    private mutating func add(_ results: [PrefetchResult]) {
        // The second occurrence of an item may find the image in the cache, and an expired one may serve.
        var (isFetched, isRevalidated, isRemote, isMade) = (false, false, false, false)
        for index in results.indices {
            // The description beside an image is no item of its own.
            guard case .success(let image) = results[index].image, !image.isDescription else { continue }
            switch image.way {
            case .fetched: isFetched = true
            case .revalidated: isRevalidated = true
            case .remote: isRemote = true
            case .derived: isMade = true
            case .memory, .disk, .stale, .pinned, .onFailure: break
            }
        }
        guard isFetched || isRevalidated || isRemote || isMade else { return skipped += 1 }
        completed += 1
        if isFetched { return }
        if isRevalidated {
            revalidated += 1
        } else if isRemote {
            remote += 1
        } else {
            derived += 1
        }
    }
}

/// The figures from which the remaining time of a run is estimated. The time for cached items is neglected.
package struct PrefetchOutlook: Sendable, Equatable {
    /// The number of items after which an older one hardly counts for the share.
    private static let memory = 1024.0

    /// The number of items that have been read and have not ended.
    package var waiting = 0
    /// Whether the items that wait are known to be missing.
    private(set) var isLookedUp = false
    /// The share of missing items among those that were read last. It begins with all of them.
    private(set) var missingShare = 1.0
    private var seen = 0.0

    package init() {}

    /// Takes a block of items into account. A block that was looked up is ahead of the items that end.
    mutating func add(missing: Int, of count: Int, isLookedUp: Bool) {
        guard count > 0 else { return }
        self.isLookedUp = isLookedUp
        seen = min(Self.memory, seen + Double(count))
        missingShare +=
            (Double(missing) / Double(count) - missingShare) * Double(min(count, Int(clamping: seen))) / seen
    }

    /// The expected number of transfers if `unread` items follow those that wait.
    package func transfers(unread: Int) -> Double {
        isLookedUp
            ? Double(waiting) + Double(unread) * missingShare : Double(waiting + unread) * missingShare
    }
}

/// The number or share of items that may fail before a run is given up.
public enum FailureLimit: Sendable, Equatable {
    /// The number of failures that ends the run; 0 is as 1.
    case count(Int)
    /// The percentage of finished items that may fail, from 0 to 100. It applies from the hundredth finished item on.
    case percent(Double)

    /// Returns whether the run is to end. What is in flight then may fail as well.
    func isReached(by progress: PrefetchProgress) -> Bool {
        switch self {
        case .count(let limit): progress.failed >= max(1, limit)
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
        /// The failures reached ``ImagePrefetcher/Configuration/maxFailures``.
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
    /// The number of lists, such as pipes, that were not read to their end because the run ended before.
    public var unreadLists = 0
}

/// The outcome of one item.
public struct PrefetchOutcome: Sendable {
    /// The end of an item.
    public enum Ending: Sendable {
        /// It was already cached, in each of its forms. No files if an earlier run has exported it.
        case skipped([StoredFile])
        /// It was retrieved. The results are in the order of the options.
        case retrieved([PrefetchResult])
        /// It could not be tried.
        case failed(KingfisherError)
        /// It was not tried, because the run ended before its transfer began.
        case notTried
    }

    /// The item.
    public let item: PrefetchItem
    /// The end of the item.
    public let ending: Ending
    /// The number of requests made, retries included.
    public var attempts: Int
    /// The steps that the tally of the run has of the item.
    let steps: RunTally.Steps
    /// The first error, also one that an earlier run has recorded; nil if all forms succeeded. It is `taskCancelled` (1003) for an item that was not tried.
    public let error: KingfisherError?
    /// Whether the item's images must have a hash: no other image takes their place.
    let isPinned: Bool

    package init(
        item: PrefetchItem, ending: Ending, attempts: Int = 0, isPinned: Bool = false,
        steps: RunTally.Steps = RunTally.Steps()
    ) {
        self.item = item
        self.ending = ending
        self.isPinned = isPinned
        (self.attempts, self.steps) = (attempts, steps)
        // The parameters are not used behind their copies, so that none is made.
        error =
            if case .skipped = self.ending { self.item.recordedRows.lazy.compactMap(\.error).first } else {
                self.ending.error
            }
    }
}

extension PrefetchResult {
    /// Whether the image was made and is not stored, although nothing failed.
    var isOfNoUse: Bool {
        if case .success(let image) = image { image.isOfNoUse && !image.isDescription } else { false }
    }
}

extension RetrieveImageResult {
    /// Whether the image is not stored, although nothing failed. Unless it is written elsewhere, its retrieval was of no use.
    package var isOfNoUse: Bool { cachedPath == nil && storing.diskError == nil }
}

extension PrefetchOutcome.Ending {
    /// The first error; nil if all forms succeeded.
    package var error: KingfisherError? {
        switch self {
        case .skipped: return nil
        case .notTried: return .requestError(reason: .taskCancelled)
        case .failed(let error): return error
        case .retrieved(let results):
            // By index: a copy of each result would retain all of its fields.
            for index in results.indices { if let error = results[index].error { return error } }
            return nil
        }
    }
}

/// The result for one form of an item.
public struct PrefetchResult: Sendable {
    /// The retrieved image, or the error.
    public let image: Result<RetrieveImageResult, KingfisherError>
    /// The exported copy; nil if there is none.
    public package(set) var copy: ImageExporter.Copy? {
        get { exported?.copy }
        set { exported = newValue.map(Exported.init) }
    }

    // A reference: a result is copied, and few have a copy.
    private var exported: Exported?
    /// The error of retrieving, storing or exporting; nil if all succeeded.
    public private(set) var error: KingfisherError?

    private final class Exported: Sendable {
        let copy: ImageExporter.Copy

        init(_ copy: ImageExporter.Copy) { self.copy = copy }
    }

    package init(_ image: consuming Result<RetrieveImageResult, KingfisherError>) {
        switch image {
        // An image that was not stored does not warm the cache, so it counts as failed.
        case .success(let result): error = result.storing.diskError
        case .failure(let failure): error = failure
        }
        self.image = image
    }

    /// Notes the error of storing or exporting a retrieved image, or that there is none.
    package mutating func note(_ problem: KingfisherError?) {
        if case .success = image { error = problem }
    }

    /// Whether a copy was written, or there are warnings.
    package var isWorthTelling: Bool {
        if copy != nil { return true }
        guard case .success(let result) = image else { return false }
        return !result.warnings.isEmpty || result.storing.originalError != nil
    }
}
