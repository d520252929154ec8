import KFLists
import KFPipeline
import KFStorage
import KFTerms

/// A run over lists that only looks the images up. It makes no request, and with a cache that is open for reading only
/// it changes nothing.
package struct PrefetchDryRun: Sendable {
    /// The state of an item in the cache, from best to worst.
    package enum State: String, Sendable, Comparable {
        /// It is served without a request: it is cached, or can be made from its cached original.
        case hit
        /// The filter refuses it, or its server has opted out. It may be cached.
        case leftOut = "left_out"
        /// It is cached, and would be revalidated or fetched again.
        case stale
        /// It would be fetched, or fail.
        case missing
        /// The record is not a source.
        case invalid

        package static func < (a: State, b: State) -> Bool { a.rank < b.rank }

        private var rank: Int {
            switch self {
            case .hit: 0
            case .leftOut: 1
            case .stale: 2
            case .missing: 3
            case .invalid: 4
            }
        }
    }

    /// One image of an item.
    package struct Form: Sendable {
        /// The first step of a retrieval.
        package let next: RetrievalPlan.Step
        /// The file of the image, or else of its original; nil when neither can be read.
        package var path: String?
        /// The end of that file's freshness.
        package var expires: Timestamp?

        package var state: State {
            switch next {
            // A list serves an expired image only where it asks nobody.
            case .memory, .disk, .derive, .stale: .hit
            case .leaveOut: .leftOut
            case .revalidate: .stale
            case .request, .remote: path == nil ? .missing : .stale
            // The run fails, also where an expired image must not be served.
            case .answer, .refuse: .missing
            }
        }
    }

    /// An item that has been looked up.
    package struct Finding: Sendable {
        package let item: PrefetchItem
        /// The images in the order of the options; none for an invalid record.
        package var forms: [Form] = []
        /// The error of an invalid record.
        package var error: KingfisherError?

        /// The worst state of its images.
        package var state: State { error == nil ? forms.map(\.state).max() ?? .missing : .invalid }
    }

    package enum Event: Sendable {
        case found(Finding)
        /// A list could not be read to its end. The run continues with the next list.
        case brokenList(KingfisherError)
    }

    private let manager: KingfisherManager
    private let forms: [OptionsBox]
    private let lock: LockedRun?
    private let keepsResults: Bool

    /// Creates a run. `forms` are the options of each image that would be made of a source, at least one. What the cache has
    /// counts only if it is as the lock says. Without `keepsResults`, what would be made of a cached original is missing.
    package init(
        manager: KingfisherManager, forms: [KingfisherOptions], lock: LockedRun? = nil, keepsResults: Bool = true
    ) {
        (self.manager, self.lock, self.keepsResults) = (manager, lock, keepsResults)
        self.forms = forms.map { form in
            var form = form
            // A prefetcher revalidates stale images as part of its run.
            form.servesWhileRevalidating = false
            return OptionsBox(form)
        }
    }

    /// Looks all items up, in the order of the lists. A false from `each` ends the run.
    package func run(_ lists: PrefetchLists, each: (Event) -> Bool) async throws(KingfisherError) {
        // While one block is looked up, the next is parsed.
        var next = Task { await lists.next() }
        while true {
            let read = await next.value
            if case .end = read { return }
            next = Task { await lists.next() }
            switch read {
            case .end: return
            case .broken(let error): if !each(.brokenList(error)) { return lists.close() }
            case .items(let items):
                for finding in try await look(at: items) where !each(.found(finding)) { return lists.close() }
            }
        }
    }

    private func look(at items: [PrefetchItem]) async throws(KingfisherError) -> [Finding] {
        let prepared = await PrefetchCandidates.prepared(items, forms, manager)
        return try await manager.cache.blocking.run { [self] () throws(KingfisherError) in
            try look(at: PrefetchCandidates(items, prepared, manager, lock))
        }
    }

    private func look(at candidates: PrefetchCandidates) throws(KingfisherError) -> [Finding] {
        let seen = try candidates.cache?.look(for: candidates.retrievals).images
        let found = try candidates.items.indices.map { number throws(KingfisherError) in
            let places = candidates.places(number)
            let forms = try places.map { index throws(KingfisherError) in
                let retrieval = candidates.retrievals[index]
                guard let seen else { return Form(try manager.explain(retrieval), keepsResults) }
                switch seen[index] {
                case .fresh(let file) where retrieval.answersFresh:
                    let refusal = retrieval.refusal(of: file.entry.originalMeasures)
                    return Form(
                        next: refusal.map(RetrievalPlan.Step.init(failing:)) ?? .disk, path: file.path,
                        expires: file.entry.expires)
                case .absent where !retrieval.needsLook && retrieval.answersFresh:
                    let refusal = PrefetchWish.refusal(
                        of: candidates.retrievals[places], seen[index...index], now: manager.cache.now)
                    return Form(next: refusal.map(RetrievalPlan.Step.init(failing:)) ?? .request)
                default: return Form(try manager.explain(retrieval), keepsResults)
                }
            }
            return Finding(item: candidates.items[number], forms: forms)
        }
        if candidates.invalid.isEmpty { return found }
        let invalid = candidates.invalid.map { Finding(item: $0.item, error: $0.error) }
        return (found + invalid).sorted { $0.item.number < $1.item.number }
    }
}

extension PrefetchDryRun.Form {
    fileprivate init(_ explanation: CacheExplanation, _ keepsResults: Bool) {
        let step = explanation.plan.step
        next = step == .derive && !keepsResults ? .refuse : step
        path = explanation.usable?.path
        expires = explanation.usable?.expires
    }
}

extension Retrieval {
    /// Whether a list skips a fresh image without another look.
    fileprivate var answersFresh: Bool { !options.revalidate && !options.forceRefresh }
}
