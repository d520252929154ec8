import KFImaging
import KFStorage
import Synchronization

/// What takes an image from stage to stage.
protocol ImageStages: AnyObject, Sendable {
    /// Used where the options name no other.
    var downloader: ImageDownloader { get }
    /// Asks the sources.
    func fetch(_ jobs: [ImageJob])
    /// A source has answered.
    func take(_ answer: Result<DownloadAnswer, KingfisherError>, _ job: ImageJob, _ batch: StoreBatch)
    /// A processor has made what is wanted, or failed.
    func take(
        _ result: Result<ProcessedImage, KingfisherError>, as made: MadeImage, _ job: ImageJob, _ batch: StoreBatch)
    /// What was ordered has ended: the image is given out.
    func conclude(_ job: ImageJob, _ deliveries: inout Deliveries)
}

/// One requested image on its way through the stages. Unchecked, because one stage at a time has it and the queues between
/// them hand it over; what a cancelling thread may touch meanwhile is under the lock.
final class ImageJob: WorkWaiter, OrderWaiter, EndingJob, Resting, ImageFinder, @unchecked Sendable {
    private struct State {
        /// Its recipient has been told.
        var hasEnded = false
        /// It was told that the job was cancelled.
        var isCancelled = false
        /// What it waits for, with others or alone.
        var work: WorkInFlight?
        /// Its retry strategy, while that decides.
        var decision: Task<Void, Never>?
        /// Orders that have not ended, and one more while they are being given.
        var orders = 0
        var variantResults: [Result<RetrieveImageResult, KingfisherError>] = []
    }

    let stages: any ImageStages
    /// The source that was asked for.
    let asked: Source
    let recipient: any ImageRecipient
    /// Its place among those of its recipient.
    let number: Int
    /// As they were given, for alternatives.
    let options: OptionsBox
    /// The downloader of every source of the job. A cancelling thread needs it, and may not read `retrieval`.
    let downloader: ImageDownloader
    /// The source that is tried, and where its image lives.
    var retrieval: Retrieval
    /// Of the alternative sources, how many have been tried.
    var alternatives = 0
    /// Why each source failed.
    var errors: [PropagationError] = []
    /// The work that has failed, while the job decides how to go on.
    var failed: WorkKey?
    /// How often the source that is tried was tried again, and what the strategy remembers of that.
    var retried = 0
    private(set) lazy var userInfo = RetryUserInfo()
    /// The caches have been asked.
    var hasLooked = false
    /// What expired of it, and is asked about.
    var stale: FoundFile?
    /// It is asked for without a condition all the same: what expired of it is gone.
    var isUnconditional = false
    /// How it is made from what is cached.
    var derivation: Derivation?
    /// What it will come to, as far as that is known.
    var ending: ImageEnding?
    /// Held while it is under way and nobody waits for all of it.
    var background: BackgroundWork.Token?
    /// Several images of the same bytes are made in one go; the job's own is their original.
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

    /// Its recipient does not wait for the stores.
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

    /// Nobody wants anything more of it.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// True for the first who asks: the recipient is to be told by that one.
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

    /// How its source is to be asked, beside what the options say.
    var condition: RequestCondition? {
        guard let stale, !stale.isBorrowed, !isUnconditional else { return nil }
        return RequestCondition(stale.file.entry)
    }

    func take(_ answer: WorkAnswer, in batch: StoreBatch) {
        let work = arrive()
        if case .download(let answer) = answer, !answer.isImage { failed = work?.key }
        switch answer {
        case .download(let answer): stages.take(answer, self, batch)
        case .made(let made, let result): stages.take(result, as: made, self, batch)
        }
    }

    /// Waits for nothing more. Gives what it has waited for.
    @discardableResult
    func arrive() -> WorkInFlight? {
        state.withLock { state in
            defer { state.work = nil }
            return state.work
        }
    }

    /// The recipient is told `taskCancelled` (1003), unless it has been told something already. Others who wait for the
    /// same still get it, and what is being stored is stored to its end.
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

    /// The same if its transfer has not started, nor anything else that is not waiting.
    func cancelUnlessStarted() {
        let (work, isDeciding) = state.withLock { ($0.work, $0.decision != nil) }
        if let download = work as? ImageDownload, !download.hasStarted { return cancel() }
        if isDeciding || downloader.rests.isResting(self) { cancel() }
    }

    /// Asks the retry strategy in a task, which is cancelled with the job; then nothing more happens.
    func decide(
        _ ask: @escaping @Sendable () async -> RetryDecision, then goOn: @escaping @Sendable (RetryDecision) -> Void
    ) {
        // An interrupted run does not wait for the decision.
        guard downloader.rests.beginDeciding(self) else { return cancel() }
        // Under the lock, so that the job cannot be cancelled before the task is known, nor the task end.
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

    /// Waits for the orders, then goes on to its end.
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

    // MARK: For others

    func wake(with others: ArraySlice<any Resting>) {
        var jobs = [self] + others.compactMap { $0 as? ImageJob }
        // Nearly always there is one manager.
        while let stages = jobs.first?.stages {
            stages.fetch(jobs.filter { $0.stages === stages })
            jobs.removeAll { $0.stages === stages }
        }
    }

    var isCached: Bool { retrieval.isCached }
}

/// Makes an image from a file of the cache.
struct Derivation: Sendable {
    let file: CachedFile
    let way: RetrievalWay
    /// What is made may be stored.
    var keeps = true
    /// The answer that has confirmed the file, if it was asked about, and why that could not be stored.
    var response: ResponseFacts?
    var problem: KingfisherError?
    /// What happens when the file cannot be decoded.
    let otherwise: Otherwise
    /// Its original was replaced once meanwhile.
    var isAgain = false
    /// What had been removed from the original's cache when the file was found; nil for a file that nothing removes.
    var removals: UInt64?

    enum Otherwise: Sendable {
        /// It is fetched anew.
        case fetch(stale: FoundFile?, commitsSeen: Int64?)
        case fail(KingfisherError)
    }
}

/// What an image will come to once its stores have ended. Unchecked, because it is its job's alone, which one stage at a
/// time has.
final class ImageEnding: @unchecked Sendable {
    enum Content: Sendable {
        case bytes(PendingBytes, ImageFormat, PixelFacts?)
        case processed(ProcessedImage)
        /// A file that was there, and is given out as it is.
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

    /// With everything that the answer decides.
    var retrieval: Retrieval
    var outcome: RetrievalOutcome
    var content: Content
    var origin: OriginFacts?
    /// Of the bytes as they came, and of what was made of them.
    var originalOrder: StoreOrder?
    var targetOrder: StoreOrder?
    /// What confirms the file that was there.
    var renewal: StoreOrder?
    /// Why one of them could not even be ordered.
    var originalProblem: KingfisherError?
    var targetProblem: KingfisherError?
    /// Keeps other processes from requesting the key until all is stored.
    let flight: FlightHold?
    /// Lets removals wait until all is stored, in both caches.
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

    /// From now on a removal waits until this is over.
    func holdStores() {
        let key = retrieval.target.key
        let isSame = retrieval.cache === retrieval.originals
        stores = (retrieval.cache.stores.begin(key), isSame ? nil : retrieval.originals.stores.begin(key))
    }

    /// The beginning of an ending for another image of the same bytes.
    func of(_ retrieval: Retrieval, _ outcome: RetrievalOutcome, _ content: Content) -> ImageEnding {
        ImageEnding(retrieval: retrieval, outcome: outcome, content: content, origin: origin, flight: flight)
    }
}
