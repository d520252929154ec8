import Dispatch

/// The jobs that wait for the `IndexWriter`, with the time at which they are due.
struct JobQueue {
    /// The next step of the writer's thread.
    enum Step {
        case commit([IndexJob])
        /// Return at this time, or earlier if called.
        case wait(until: DispatchTime)
        case stop
    }

    /// The greatest number of rows in a batch.
    private static let batchCount = 256

    private var jobs: [IndexJob] = []
    /// The number of rows of all waiting jobs.
    private var rows = 0
    private var isDue = false
    private var deadline = DispatchTime.distantFuture
    /// The time for which the writer's thread is scheduled.
    private var visit = DispatchTime.distantFuture
    /// Whether the writer's thread is running. It checks the queue again before it ends.
    private var isDraining = false

    /// Whether no job waits and the writer's thread is not running.
    var isIdle: Bool { jobs.isEmpty && !isDraining }

    /// Adds jobs. Returns the time at which to schedule the writer's thread, or nil if it need not be scheduled.
    mutating func add(_ added: [IndexJob], _ company: Company) -> DispatchTime? {
        if jobs.isEmpty { jobs = added } else { jobs += added }
        for place in added.indices { rows += added[place].rows }
        if let span = company.span, rows < company.rows {
            deadline = min(deadline, .now() + span)
        } else {
            isDue = true
        }
        guard !isDraining else { return nil }
        let time = isDue ? DispatchTime.now() : deadline
        // A thread that is scheduled at once but has not started has a `visit` in the past.
        guard time < visit else { return nil }
        visit = time
        return time
    }

    mutating func take(all: Bool) -> Step {
        visit = .distantFuture
        isDraining = !jobs.isEmpty && (all || isDue || deadline <= .now())
        if jobs.isEmpty { return .stop }
        guard isDraining else {
            visit = deadline
            return .wait(until: deadline)
        }
        var (end, taken) = (0, 0)
        while end < jobs.count, end == 0 || taken + jobs[end].rows <= Self.batchCount {
            taken += jobs[end].rows
            end += 1
        }
        // Most often all of them, which are then not copied.
        var batch: [IndexJob] = []
        if end == jobs.count { swap(&batch, &jobs) } else { batch = Array(jobs.prefix(end)) }
        if !jobs.isEmpty { jobs.removeFirst(end) }
        rows -= taken
        isDue = !jobs.isEmpty
        if jobs.isEmpty { deadline = .distantFuture }
        return .commit(batch)
    }

    /// Puts jobs back at the front, to be committed next. Called only by the writer's thread.
    mutating func putBack(_ batch: ArraySlice<IndexJob>) {
        jobs.insert(contentsOf: batch, at: 0)
        for job in batch { rows += job.rows }
        isDue = true
    }

    mutating func remove(where isChosen: (IndexJob) -> Bool) -> [IndexJob] {
        let removed = jobs.filter(isChosen)
        jobs.removeAll(where: isChosen)
        for job in removed { rows -= job.rows }
        return removed
    }
}

/// A unit that the `IndexWriter` commits whole: a change, or a group of stores.
struct IndexJob: Sendable {
    typealias Change = @Sendable (Connection) throws(StorageError) -> Void
    typealias Completion = @Sendable (Result<Void, StorageError>) -> Void

    enum Work: Sendable {
        case change(Change, Completion)
        case group(Int, of: Submission)
    }

    /// The start of its wait for other processes.
    let since: ContinuousClock.Instant
    let work: Work

    /// The approximate number of rows that it changes.
    let rows: Int
    /// Whether it is dropped instead of waiting. Its commit does not move the commit counter.
    let isOptional: Bool
    /// Its first row. Changes sort before all groups and keep their order.
    let place: Int64

    init(
        _ change: @escaping Change, since: ContinuousClock.Instant, isOptional: Bool, completion: @escaping Completion
    ) {
        (self.since, work) = (since, .change(change, completion))
        (rows, place, self.isOptional) = (1, .min, isOptional)
    }

    init(_ group: Int, of submission: Submission, since: ContinuousClock.Instant) {
        (self.since, work) = (since, .group(group, of: submission))
        let places = submission.groups[group]
        (rows, isOptional) = (places.count, false)
        place = places.first.map { submission.stores[$0].row } ?? .min
    }

    /// Delivers the outcomes: one per store, or one for a change.
    func finish(_ outcomes: ArraySlice<Store.Outcome>) {
        switch work {
        case .change(_, let completion): if let first = outcomes.first { completion(first.map { _ in () }) }
        case .group(let number, let submission): submission.finish(number, outcomes)
        }
    }

    func fail(_ error: StorageError) {
        switch work {
        case .change(_, let completion): completion(.failure(error))
        case .group(let number, let submission): submission.fail(number, error)
        }
    }
}
