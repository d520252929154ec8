import Dispatch

/// The jobs that wait for the `IndexWriter`, and when it is to commit them.
struct JobQueue {
    /// What the writer's thread is to do.
    enum Step {
        case commit([IndexJob])
        /// Come back at this time, unless it is called earlier.
        case wait(until: DispatchTime)
        case stop
    }

    /// A batch ends at this many rows.
    private static let batchCount = 256

    private var jobs: [IndexJob] = []
    /// Those before it are taken.
    private var head = 0
    /// Of the jobs.
    private var rows = 0
    /// The jobs wait no longer.
    private var isDue = false
    /// When one of the jobs waits no longer.
    private var deadline = DispatchTime.distantFuture
    /// When the writer's thread will come.
    private var visit = DispatchTime.distantFuture
    /// It is here, and looks again before it leaves.
    private var isDraining = false

    /// Nothing waits, and the writer's thread is not at work.
    var isIdle: Bool { isEmpty && !isDraining }
    private var isEmpty: Bool { head == jobs.count }

    /// Returns when the writer's thread has to be called, if it has to.
    mutating func add(_ added: [IndexJob], _ company: Company) -> DispatchTime? {
        jobs += added
        for job in added { rows += job.rows }
        if let span = company.span, rows < company.rows {
            deadline = min(deadline, .now() + span)
        } else {
            isDue = true
        }
        guard !isDraining else { return nil }
        let time = isDue ? DispatchTime.now() : deadline
        // One that was called to come at once, and has not come yet, has a time that has passed.
        guard time < visit else { return nil }
        visit = time
        return time
    }

    mutating func take(all: Bool) -> Step {
        visit = .distantFuture
        isDraining = !isEmpty && (all || isDue || deadline <= .now())
        if isEmpty { return .stop }
        guard isDraining else {
            visit = deadline
            return .wait(until: deadline)
        }
        var end = head
        var taken = 0
        while end < jobs.count, end == head || taken + jobs[end].rows <= Self.batchCount {
            taken += jobs[end].rows
            end += 1
        }
        let batch = Array(jobs[head..<end])
        rows -= taken
        head = end
        isDue = !isEmpty
        if isEmpty { deadline = .distantFuture }
        if head > 4096 || isEmpty {
            jobs.removeFirst(head)
            head = 0
        }
        return .commit(batch)
    }

    /// Puts jobs at the front again, to be committed next; to be called by the writer's thread.
    mutating func putBack(_ batch: ArraySlice<IndexJob>) {
        let place = min(head, batch.count)
        jobs.replaceSubrange(head - place..<head, with: batch)
        head -= place
        for job in batch { rows += job.rows }
        isDue = true
    }

    /// Takes these jobs out.
    mutating func remove(where isChosen: (IndexJob) -> Bool) -> [IndexJob] {
        jobs.removeFirst(head)
        head = 0
        let removed = jobs.filter(isChosen)
        jobs.removeAll(where: isChosen)
        for job in removed { rows -= job.rows }
        return removed
    }
}

/// What the `IndexWriter` commits as one: a change, or a group of orders.
struct IndexJob: Sendable {
    typealias Change = @Sendable (Connection) throws(StorageError) -> Void
    typealias Completion = @Sendable (Result<Void, StorageError>) -> Void

    enum Work: Sendable {
        case change(Change, Completion)
        case group(Int, of: OrderSubmission)
    }

    /// When its waiting for other processes began.
    let since: ContinuousClock.Instant
    let work: Work

    /// How many rows it changes, about.
    let rows: Int
    /// It is dropped where it would have to wait, and nobody else has to know of it.
    let isOptional: Bool
    /// Its first row. Changes come first, in their order.
    let place: Int64

    init(
        _ change: @escaping Change, since: ContinuousClock.Instant, isOptional: Bool, completion: @escaping Completion
    ) {
        (self.since, work) = (since, .change(change, completion))
        (rows, place, self.isOptional) = (1, .min, isOptional)
    }

    init(_ group: Int, of submission: OrderSubmission, since: ContinuousClock.Instant) {
        (self.since, work) = (since, .group(group, of: submission))
        let orders = submission.groups[group]
        (rows, place, isOptional) = (orders.count, orders.first?.row ?? .min, false)
    }

    /// An outcome for each order; a change has one.
    func finish(_ outcomes: [IndexOrder.Outcome]) {
        switch work {
        case .change(_, let completion): completion(outcomes[0].map { _ in () })
        case .group(let number, let submission): submission.finish(number, outcomes)
        }
    }

    func fail(_ error: StorageError) {
        switch work {
        case .change(_, let completion): completion(.failure(error))
        case .group(let number, let submission):
            submission.finish(number, submission.groups[number].map { _ in .failure(error) })
        }
    }
}
