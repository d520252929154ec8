import KFImaging
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// One retrieval on its way through the stages.
///
/// One thread at a time works on a job: the one that a stage's queue has handed it to. It reads the stage, works on
/// values of its own, and enters the next stage. A cancelling thread comes at any time; the lock is all that they share.
package final class ImageJob: WorkWaiter {
    /// The result of one image.
    package typealias End = Result<RetrieveImageResult, KingfisherError>

    /// The images that a job brings.
    package enum Wanted: Sendable {
        case one
        /// Several images of one source, each in its own way.
        case several([Retrieval])
        /// Several images that are made together. The image of the job itself is their original.
        case together([Retrieval], JointTerms)
        /// The pixels of one image, of which nothing is encoded or stored.
        case pixels
    }

    /// How the original of several images is asked for.
    package struct JointTerms: Sendable {
        /// Whether any of the images is on the disk, expired.
        var areStale: Bool
        /// Whether the request is unconditional, because not all of them would have the same condition.
        var isUnconditional = false
    }

    /// What a job waits for. A cancellation ends the wait.
    enum Wait: Sendable {
        case nothing
        case work(any SharedWork)
        /// The decision of the retry strategy.
        case decision(Task<Void, Never>)
        /// The delay of a retry.
        case rest
    }

    struct State: Sendable {
        fileprivate(set) var stage = Stage.looking
        fileprivate var wait = Wait.nothing
        /// Whether the recipient has been notified.
        fileprivate(set) var isDelivered = false
        /// Whether it has been notified of a cancellation.
        fileprivate(set) var isCancelled = false
        /// The source that is tried, with its options and keys.
        var retrieval: Retrieval
        /// The images that are made together of an alternative source.
        var variants: [Retrieval]?
        /// Whether the caches have been searched for it, and whether the remotes have been asked.
        var hasLooked = false
        var hasAskedRemotes = false
        /// How many times a look-up was repeated because another process had stored the image.
        var timesStored = 0
        /// The number of retries, and the storage of the retry strategy.
        var retried = 0
        var userInfo: RetryUserInfo?
        /// The errors of the sources that failed before.
        var errors: [PropagationError] = []
        /// The members of the original's entry in the remote that kf does not know.
        var membersInRemote: [StrictJSON.Member]?
        /// Whether an upload replaces the object in the remote, because it is not what it should be.
        var replacesInRemote = false
        /// The number of stores that have not ended, and one more while they are being ordered.
        fileprivate var openStores = 0
        /// The result that the recipient is told, and those of several images, in their order.
        fileprivate var result: End?
        var results: [End] = []

        /// The terms of asking the source, in that stage.
        var asking: Asking {
            if case .fetching(let asking) = stage { asking } else { Asking() }
        }
    }

    let manager: KingfisherManager
    /// The retrieval of the call, which alternatives start from.
    let asked: Retrieval
    package let wanted: Wanted
    let recipient: any ImageRecipient
    /// The number of the job among those of its recipient.
    package let number: Int
    /// The downloader of every source of the job.
    let downloader: ImageDownloader
    /// The stale image that has already been served.
    let served: FoundFile?
    /// The token of background work, if no caller waits for all of the job.
    private let background: BackgroundWork.Token?
    private let requests = Atomic(0)
    /// The steps that the run's tally has of the job.
    private let counted = StepCount()
    let state: Mutex<State>

    /// With `asking`, the caches have been searched, and the job begins at its source.
    package init(
        _ manager: KingfisherManager, _ retrieval: Retrieval, _ wanted: Wanted = .one,
        for recipient: any ImageRecipient, number: Int = 0, asking: Asking? = nil, served: FoundFile? = nil
    ) {
        self.manager = manager
        self.wanted = wanted
        self.recipient = recipient
        self.number = number
        self.served = served
        asked = retrieval
        downloader = retrieval.options.downloader ?? manager.downloader
        background = retrieval.options.waitForCache && served == nil ? nil : manager.background.begin()
        state = Mutex(
            State(
                stage: asking.map { .fetching($0) } ?? .looking, retrieval: retrieval,
                hasLooked: asking != nil || served != nil))
    }

    /// Whether the image must have a hash.
    package var isPinned: Bool { asked.pin != nil }

    /// The images that are made together, as the call asked for them.
    var askedVariants: [Retrieval] {
        if case .together(let retrievals, _) = wanted { retrievals } else { [] }
    }

    /// The images that are made together: of the source that is tried, in the representation that is selected.
    var variants: [Retrieval] {
        let asked = askedVariants
        let (variants, representation) = state.withLock { ($0.variants ?? asked, $0.retrieval.target.representation) }
        return variants.map { $0.of(representation: representation) }
    }

    /// Whether several images are made together.
    var makesVariants: Bool {
        if case .together = wanted { true } else { false }
    }

    /// The first of these variants that is on the disk, expired; its original is not. Blocks.
    func staleFile(of variants: [Retrieval]) throws(KingfisherError) -> FoundFile? {
        guard case .together(_, let terms) = wanted, terms.areStale else { return nil }
        for variant in variants {
            if let found = try variant.ownFile() { return found }
        }
        return nil
    }

    /// Whether only the pixels of the image are wanted.
    var wantsPixels: Bool {
        if case .pixels = wanted { true } else { false }
    }

    var wish: Wish {
        Wish(
            priority: asked.options.request.priority, progress: asked.options.progress,
            isForced: asked.options.forceRefresh && asked.options.answers == nil,
            isRetry: state.withLock { $0.retried > 0 })
    }

    /// The number of requests made. The recipient of a cancelled job reads it while a stage may still change it.
    package var attempts: Int { requests.load(ordering: .relaxed) }

    func countAttempts(_ number: Int) { requests.add(number, ordering: .relaxed) }

    package var steps: RunTally.Steps { counted.value }

    /// Counts a step for the progress of the run.
    func note(_ step: RunTally.Steps) {
        guard let tally = asked.options.tally else { return }
        counted.add(step)
        tally.add(step)
    }

    /// Takes over what a part of the job has counted.
    func inherit(from part: ImageJob) {
        countAttempts(part.attempts)
        counted.add(part.steps)
    }

    var retrieval: Retrieval { state.withLock { $0.retrieval } }

    var stage: Stage { state.withLock { $0.stage } }

    var asking: Asking { state.withLock { $0.asking } }

    var isDelivered: Bool { state.withLock { $0.isDelivered } }

    /// Whether the job was cancelled.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    // MARK: Stages

    /// Enters a stage. Returns false if the job was cancelled: it goes no further, unless its image is already being
    /// stored.
    @discardableResult
    func enter(_ next: Stage) -> Bool {
        state.withLock { state in
            if case .storing = next {} else if state.isCancelled { return false }
            assert(state.stage.leads(to: next) || state.isCancelled, "\(state.stage) leads to \(next)")
            state.stage = next
            return true
        }
    }

    /// Notes the result that the recipient is told now. Returns false if it has been told one. Unless that is delivered
    /// early, the job ends.
    func deliver(_ result: End?, early: Bool = false) -> Bool {
        state.withLock { state in
            if !early { state.stage = .ended }
            if state.isDelivered { return false }
            (state.isDelivered, state.result) = (true, result)
            return true
        }
    }

    /// The results of all images that an ended job was to bring, in their order.
    package var results: [End] {
        let (result, results) = state.withLock { ($0.result, $0.results) }
        switch wanted {
        case .several(let retrievals) where results.isEmpty, .together(let retrievals, _) where results.isEmpty:
            return retrievals.compactMap { _ in result }
        case .several, .together: return results
        case .one, .pixels: return result.map { [$0] } ?? []
        }
    }

    /// The result of a job that brings one image, after its end.
    package var result: End? { state.withLock { $0.result } }

    /// Notes the ends of parts. Returns the results of all parts after the last end.
    func note(_ parts: [ImageJob]) -> [End] {
        for part in parts { inherit(from: part) }
        return state.withLock { state in
            guard case .split(var split) = state.stage else { return [] }
            for part in parts { split.note(part) }
            state.stage = .split(split)
            if !split.results.contains(where: { $0 == nil }) { state.results = split.results.compactMap { $0 } }
            return state.results
        }
    }

    func waits(for work: any SharedWork) -> Bool {
        state.withLock { state in
            if !state.isCancelled { state.wait = .work(work) }
            return !state.isCancelled
        }
    }

    /// Waits for the end of a delay.
    func rests() { state.withLock { $0.wait = $0.isCancelled ? .nothing : .rest } }

    /// Stops waiting. Returns the work that the job has waited for.
    @discardableResult
    func arrive() -> (any SharedWork)? {
        let wait = state.withLock { state in
            defer { state.wait = .nothing }
            return state.wait
        }
        if case .work(let work) = wait { return work }
        return nil
    }

    func arrived(_ answer: Answer, _ turn: inout Turn) {
        let work = arrive()
        if let work, work.requests != 1 { countAttempts(work.requests - 1) }
        if isCancelled { return }
        arrived(answer, of: work?.key, &turn)
    }

    // MARK: Cancelling

    /// Ends the job with `taskCancelled` (1003), unless it has already been delivered. Other waiters still get the image,
    /// and stores in flight are finished.
    package func cancel() {
        let (wait, parts) = state.withLock { state -> (Wait?, [ImageJob]) in
            if state.isDelivered { return (nil, []) }
            state.isCancelled = true
            // The ends of its parts end it.
            if case .split(let split) = state.stage { return (nil, split.jobs) }
            (state.isDelivered, state.result) = (true, .failure(.requestError(reason: .taskCancelled)))
            defer { state.wait = .nothing }
            // A cancelled job that is still referenced must not hold what it waited for.
            if case .nothing = state.wait {} else { state.stage = .ended }
            return (state.wait, [])
        }
        for part in parts { part.cancel() }
        switch wait {
        case .work(let work): work.table.leave(work, self)
        case .decision(let decision): decision.cancel()
        case .rest: downloader.rests.forget(self)
        case .nothing: break
        case nil: return
        }
        recipient.ended([self])
    }

    /// Cancels the job if it only waits: for its transfer to start, for a retry, or for a decision.
    package func cancelUnlessStarted() {
        let (wait, stage) = state.withLock { ($0.wait, $0.stage) }
        if case .split(let split) = stage { return split.jobs.forEach { $0.cancelUnlessStarted() } }
        switch wait {
        case .work(let work) where work.waitsToStart: cancel()
        case .decision, .rest: cancel()
        case .nothing, .work: break
        }
    }

    /// Asks the retry strategy in a task. Cancelling the job cancels the task and drops its decision.
    func decide(
        _ ask: @escaping @Sendable () async -> RetryDecision, then goOn: @escaping @Sendable (RetryDecision) -> Void
    ) {
        // An interrupted run does not wait for the decision.
        guard downloader.rests.beginDeciding(self) else { return cancel() }
        // The lock prevents that the job is cancelled before its task is stored, or that the task ends before that.
        state.withLock { [self] state in
            if state.isCancelled { return }
            state.wait = .decision(
                Task {
                    let decision = await ask()
                    downloader.rests.endDeciding(self)
                    arrive()
                    if !isCancelled { goOn(decision) }
                })
        }
    }

    // MARK: Storing

    /// Waits for the stores of the image, then concludes the job.
    func wait(forStoresOf ending: consuming ImageEnding, _ turn: inout Turn) {
        let draft = Draft(consume ending)
        state.withLock { state in
            state.openStores = 1
            draft.forEachStore { _ in state.openStores += 1 }
        }
        enter(.storing(draft))
        draft.forEachStore { place in if !draft.ending.body.wait(for: place, self) { stored(&turn) } }
        stored(&turn)
    }

    /// Counts a store that has ended. After the last one, the job concludes.
    func stored(_ turn: inout Turn) {
        let stage = state.withLock { state -> Stage? in
            state.openStores -= 1
            return state.openStores == 0 ? state.stage : nil
        }
        if case .storing(let draft)? = stage { conclude(draft, &turn) }
    }
}
