import KFImaging
import KFStorage
import Synchronization

/// One requested image on its way through the stages.
///
/// `@unchecked Sendable`, because one stage at a time owns it and the queues between the stages hand it over. State
/// that a cancelling thread may touch is under the lock.
final class ImageJob: WorkWaiter, @unchecked Sendable {
    private struct State {
        /// Whether the recipient has been notified.
        var hasEnded = false
        /// Whether the recipient has been notified of a cancellation.
        var isCancelled = false
        /// The work that the job waits for.
        var work: WorkInFlight?
        /// The task of the retry strategy, while it decides.
        var decision: Task<Void, Never>?
        /// The number of orders that have not ended, plus one while they are being given.
        var orders = 0
        var results: [Result<RetrieveImageResult, KingfisherError>] = []
    }

    let manager: KingfisherManager
    /// The retrieval of the call, which alternatives start from.
    let asked: Retrieval
    let recipient: any ImageRecipient
    /// The number of the job among those of its recipient.
    let number: Int
    /// The downloader of every source of the job. A cancelling thread needs it, and may not read `retrieval`.
    let downloader: ImageDownloader
    /// The source that is tried, with its options and keys.
    var retrieval: Retrieval
    /// The number of commits by other processes when the look-up missed; nil to fetch regardless of later commits.
    var commitsSeen: Int64?
    /// How many times a look-up was repeated because another process had stored the image.
    var timesStored = 0
    /// The stale image that has already been served.
    var served: FoundFile?
    /// The number of alternative sources that have been tried.
    var alternatives = 0
    /// The errors of the failed sources.
    var errors: [PropagationError] = []
    /// The failed work, while the job decides how to continue.
    var failed: WorkKey?
    /// The number of retries of the current source, and the storage of the retry strategy.
    var retried = 0
    private(set) lazy var userInfo = RetryUserInfo()
    /// Whether the caches have been searched.
    var hasLooked = false
    /// Whether the remotes have been asked.
    var hasAskedRemotes = false
    /// Whether the job is over when no remote has the image.
    var endsAfterRemotes = false
    /// The members of the original's entry in the remote that kf does not know.
    var membersInRemote: [StrictJSON.Member] = []
    /// Whether an upload replaces the object in the remote, because it is not what it should be.
    var replacesInRemote = false
    /// The stale entry to revalidate.
    var stale: FoundFile?
    /// Whether the request is unconditional despite a stale entry, because the entry has gone.
    var isUnconditional = false
    /// The way to make the image from a cached file.
    var derivation: Derivation?
    /// The result in progress: the image with its pending stores.
    var ending: ImageEnding?
    /// The token of background work, held while no caller waits for all of the job.
    var background: BackgroundWork.Token?
    /// The variants that are made together. The image of the job itself is their original.
    var variants: [Retrieval] = []
    private let requests = Atomic(0)
    private let state = Mutex(State())

    init(
        _ manager: KingfisherManager, _ retrieval: Retrieval, for recipient: any ImageRecipient, number: Int = 0
    ) {
        self.manager = manager
        self.retrieval = retrieval
        self.recipient = recipient
        self.number = number
        asked = retrieval
        downloader = retrieval.options.downloader ?? manager.downloader
    }

    /// Whether the recipient does not wait for the stores.
    var isEarly: Bool { !retrieval.options.waitForCache }

    var wish: Wish {
        let options = retrieval.options
        return Wish(
            priority: options.request.priority, progress: options.progress, isForced: options.forceRefresh)
    }

    /// The number of requests made. The recipient of a cancelled job reads it while a stage may still change it.
    var attempts: Int { requests.load(ordering: .relaxed) }

    func countAttempts(_ number: Int) { requests.add(number, ordering: .relaxed) }

    /// The results of the variants, in their order. The recipient of a cancelled job reads them at any time.
    var results: [Result<RetrieveImageResult, KingfisherError>] {
        get { state.withLock { $0.results } }
        set { state.withLock { $0.results = newValue } }
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// Whether the job was cancelled.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Ends the job. Returns true for the first caller only, which then notifies the recipient.
    func end() -> Bool {
        state.withLock { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
    }

    func waits(for work: WorkInFlight) -> Bool {
        state.withLock { state in
            if state.isCancelled { return false }
            state.work = work
            return true
        }
    }

    /// The validators of the stale entry, which make the request conditional.
    var condition: RequestCondition? {
        guard let stale, !stale.isBorrowed, !isUnconditional else { return nil }
        return retrieval.condition(of: stale.file.entry)
    }

    func take(_ answer: WorkAnswer, in batch: StoreBatch) {
        let work = arrive()
        if case .download(let answer) = answer, !answer.isImage { failed = work?.key }
        switch answer {
        case .download(let answer): manager.take(answer, self, batch)
        case .made(let made, let result): manager.take(result, as: made, self, batch)
        }
    }

    /// Stops waiting. Returns the work that the job waited for.
    @discardableResult
    func arrive() -> WorkInFlight? {
        state.withLock { state in
            defer { state.work = nil }
            return state.work
        }
    }

    /// Ends the job with `taskCancelled` (1003), unless it has already ended. Other waiters still get the image, and
    /// stores in flight are finished.
    func cancel() {
        let (isOver, work, decision) = state.withLock { state in
            if state.hasEnded { return (true, WorkInFlight?.none, Task<Void, Never>?.none) }
            (state.hasEnded, state.isCancelled) = (true, true)
            // A cancelled job that is still referenced must not hold the body of its download.
            defer { (state.work, state.decision) = (nil, nil) }
            return (false, state.work, state.decision)
        }
        if isOver { return }
        decision?.cancel()
        if let work { work.table.leave(work, self) }
        downloader.rests.forget(self)
        recipient.take([EndedImage(job: self, result: .failure(.requestError(reason: .taskCancelled)))])
    }

    /// Cancels the job if it only waits: for its transfer to start, for a retry, or for a decision.
    func cancelUnlessStarted() {
        let (work, isDeciding) = state.withLock { ($0.work, $0.decision != nil) }
        if let download = work as? ImageDownload, !download.hasStarted { return cancel() }
        if isDeciding || downloader.rests.isResting(self) { cancel() }
    }

    /// Asks the retry strategy in a task. Cancelling the job cancels the task and drops its decision.
    func decide(
        _ ask: @escaping @Sendable () async -> RetryDecision, then goOn: @escaping @Sendable (RetryDecision) -> Void
    ) {
        // An interrupted run does not wait for the decision.
        guard downloader.rests.beginDeciding(self) else { return cancel() }
        // The lock prevents that the job is cancelled before its task is stored, or that the task ends before that.
        state.withLock { [self] held in
            if held.isCancelled { return }
            held.decision = Task {
                let decision = await ask()
                downloader.rests.endDeciding(self)
                let isCancelled = state.withLock { state in
                    state.decision = nil
                    return state.isCancelled
                }
                if !isCancelled { goOn(decision) }
            }
        }
    }

    // MARK: Storing

    /// Waits for the orders, then concludes the job.
    func wait(for orders: [StoreOrder], _ deliveries: inout Deliveries) {
        state.withLock { $0.orders = 1 + orders.count }
        var isOver = false
        for order in orders where order.outcome(for: self) != nil { isOver = orderEnded() || isOver }
        if orderEnded() || isOver { manager.conclude(self, &deliveries) }
    }

    func orderEnded() -> Bool {
        state.withLock { state in
            state.orders -= 1
            return state.orders == 0
        }
    }

    /// Asks the sources of the jobs.
    static func fetch(_ jobs: [ImageJob]) {
        var jobs = jobs[...]
        // There is nearly always only one manager.
        while let manager = jobs.first?.manager {
            manager.fetch(jobs.filter { $0.manager === manager })
            jobs = jobs.filter { $0.manager !== manager }[...]
        }
    }
}

/// The making of an image from a cached file.
struct Derivation: Sendable {
    let file: CachedFile
    let way: RetrievalWay
    /// Whether the result may be stored.
    var keeps = true
    /// The response that confirmed the file, if it was revalidated, and the error of writing the renewal.
    var response: ResponseFacts?
    var problem: KingfisherError?
    /// The action if the file cannot be decoded.
    let otherwise: Otherwise
    /// Whether the original has already been replaced once meanwhile.
    var isAgain = false
    /// The count of removals of the original's cache when the file was found; nil for a file that is never removed.
    var removals: UInt64?

    enum Otherwise: Sendable {
        /// Fetch the image again.
        case fetch(stale: FoundFile?, commitsSeen: Int64?)
        case fail(KingfisherError)
    }
}
