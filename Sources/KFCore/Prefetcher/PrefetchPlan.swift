import KFPipeline
import KFTerms

/// Called with the sources that have ended so far: those that were already cached, those that failed, and those that
/// were retrieved.
public typealias PrefetcherProgressBlock =
    @Sendable (_ skipped: [Source], _ failed: [Source], _ completed: [Source]) -> Void

/// The sources of a prefetcher and its callbacks.
struct PrefetchPlan: Sendable {
    let sources: [Source]
    let queue: CallbackQueue
    let progressBlock: PrefetcherProgressBlock?
    let completionHandler: PrefetcherProgressBlock?
}

/// The sources of a plan, grouped by their outcome.
struct PrefetchedSources: Sendable {
    private var skipped: [Source] = []
    private var failed: [Source] = []
    private var completed: [Source] = []

    /// The numbers of the sources that have ended.
    private var ended: Set<Int> = []

    mutating func add(_ outcome: PrefetchOutcome) {
        ended.insert(outcome.item.number)
        guard case .success(let source) = outcome.item.source else { return }
        if let error = outcome.error {
            // An image that was left out has not failed.
            if error.isLeftOut { skipped.append(source) } else { failed.append(source) }
        } else if case .skipped = outcome.ending {
            skipped.append(source)
        } else {
            completed.append(source)
        }
    }

    /// Counts the sources that have not ended as failed.
    mutating func finish(_ sources: [Source]) {
        for (index, source) in sources.enumerated() where !ended.contains(index + 1) { failed.append(source) }
    }

    func tell(_ block: PrefetcherProgressBlock?, on queue: CallbackQueue) {
        guard let block else { return }
        queue.execute { [skipped, failed, completed] in block(skipped, failed, completed) }
    }
}
