import KFImaging
import KFStorage
import Synchronization

/// The stages that an image passes through.
protocol ImageStages: AnyObject, Sendable {
    /// The downloader of jobs whose options name no other.
    var downloader: ImageDownloader { get }
    /// Fetches from the sources.
    func fetch(_ jobs: [ImageJob])
    /// Continues with the answer of a source.
    func take(_ answer: Result<DownloadAnswer, KingfisherError>, _ job: ImageJob, _ batch: StoreBatch)
    /// Continues with the outcome of a processor.
    func take(
        _ result: Result<ProcessedImage, KingfisherError>, as made: MadeImage, _ job: ImageJob, _ batch: StoreBatch)
    /// Delivers the image when its orders have ended.
    func conclude(_ job: ImageJob, _ deliveries: inout Deliveries)
}

/// One requested image on its way through the stages.
///
/// `@unchecked Sendable`, because one stage at a time owns it and the queues between the stages hand it over. State
/// that a cancelling thread may touch is under the lock.
final class ImageJob: WorkWaiter, OrderWaiter, EndingJob, Resting, ImageFinder, @unchecked Sendable {
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
        var variantResults: [Result<RetrieveImageResult, KingfisherError>] = []
    }

    let stages: any ImageStages
    /// The requested source.
    let asked: Source
    let recipient: any ImageRecipient
    /// The number of the job among those of its recipient.
    let number: Int
    /// The options of the call, which alternatives start from.
    let options: OptionsBox
    /// The downloader of every source of the job. A cancelling thread needs it, and may not read `retrieval`.
    let downloader: ImageDownloader
    /// The source that is tried, with its options and keys.
    var retrieval: Retrieval
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
        _ stages: any ImageStages, _ retrieval: Retrieval, for recipient: any ImageRecipient, number: Int = 0
    ) {
        self.stages = stages
        self.retrieval = retrieval
        self.recipient = recipient
        self.number = number
        asked = retrieval.source
        options = retrieval.box
        downloader = retrieval.options.downloader ?? stages.downloader
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
    var variantResults: [Result<RetrieveImageResult, KingfisherError>] {
        get { state.withLock { $0.variantResults } }
        set { state.withLock { $0.variantResults = newValue } }
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
        case .download(let answer): stages.take(answer, self, batch)
        case .made(let made, let result): stages.take(result, as: made, self, batch)
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
        if orderEnded() || isOver { stages.conclude(self, &deliveries) }
    }

    func orderEnded() -> Bool {
        state.withLock { state in
            state.orders -= 1
            return state.orders == 0
        }
    }

    // MARK: Retrying and finding

    func wake(with others: ArraySlice<any Resting>) {
        Self.fetch([self] + others.compactMap { $0 as? ImageJob })
    }

    /// Asks the sources of the jobs.
    static func fetch(_ jobs: [ImageJob]) {
        var jobs = jobs
        // There is nearly always only one manager.
        while let stages = jobs.first?.stages {
            stages.fetch(jobs.filter { $0.stages === stages })
            jobs.removeAll { $0.stages === stages }
        }
    }

    var isCached: Bool { retrieval.isCached }
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

/// The result of an image while its stores are pending.
///
/// `@unchecked Sendable`, because it belongs to its job, which one stage at a time owns.
final class ImageEnding: @unchecked Sendable {
    enum Content: Sendable {
        case bytes(PendingBytes, ImageFormat, PixelFacts?)
        case processed(ProcessedImage)
        /// An existing file that is delivered unchanged.
        case file(CachedFile)
        case variants([VariantEnding])
    }

    struct VariantEnding: Sendable {
        let retrieval: Retrieval
        var outcome: RetrievalOutcome
        let made: Result<ProcessedImage, KingfisherError>
        var order: StoreOrder?
        var problem: KingfisherError?
    }

    /// The retrieval, including the changes that depend on the response.
    var retrieval: Retrieval
    var outcome: RetrievalOutcome
    var content: Content
    var origin: OriginFacts?
    /// The stores of the original and of the requested image.
    var originalOrder: StoreOrder?
    var targetOrder: StoreOrder?
    /// The renewal of the confirmed entry.
    var renewal: StoreOrder?
    /// The errors that prevented an order.
    var originalProblem: KingfisherError?
    var targetProblem: KingfisherError?
    /// The claim that keeps other processes from requesting the key until everything is stored.
    let flight: FlightHold?
    /// The tokens that make removals in both caches wait until everything is stored.
    private var stores: (target: StoresUnderWay.Token, original: StoresUnderWay.Token?)?

    init(
        retrieval: Retrieval, outcome: RetrievalOutcome, content: Content, origin: OriginFacts? = nil,
        flight: FlightHold? = nil
    ) {
        self.retrieval = retrieval
        self.outcome = outcome
        self.content = content
        self.origin = origin
        self.flight = flight
    }

    /// Makes removals wait until this object is released.
    func holdStores() {
        let key = retrieval.target.key
        let isSame = retrieval.cache === retrieval.originals
        stores = (retrieval.cache.stores.begin(key), isSame ? nil : retrieval.originals.stores.begin(key))
    }

    /// Returns a new ending for another image from the same bytes.
    func of(_ retrieval: Retrieval, _ outcome: RetrievalOutcome, _ content: Content) -> ImageEnding {
        ImageEnding(retrieval: retrieval, outcome: outcome, content: content, origin: origin, flight: flight)
    }
}
