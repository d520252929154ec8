/// A transaction of the `IndexWriter`: as many of its jobs as fit into the holding time.
///
/// The stores of new images are gathered in runs. A run is carried out statement by statement: all objects, all files,
/// all entries, all times. The processor's first-level cache does not hold the code of a whole store, so that store by
/// store most of it is loaded again each time: a run has a third of the misses.
struct StoreBatch {
    /// The time for which a batch may hold the lock.
    private static let holding: Duration = .milliseconds(10)
    /// The lengths of the first run and of the longest. The clock is read after a run, and each run is twice as long as the
    /// one before, so that a slow disk does not hold the lock for long. Where a file may take milliseconds, a run is one
    /// store.
    private static let runs = (first: 8, longest: 64)

    private let session: IndexSession
    private let synchronizes: Bool
    /// The outcomes of the first `count` jobs: one for each store or change.
    private(set) var outcomes: [Store.Outcome] = []
    private(set) var count = 0
    private var run: [NewImage] = []
    /// The objects whose files must be removed if their rows are not committed.
    private var published: [StoredObject] = []
    /// Whether a run or a store has been carried out since the clock was read.
    private var hasWorked = false
    /// Whether a store or a change has failed, and not the transaction.
    private var hasFailed = false

    init(_ session: IndexSession, synchronizes: Bool) {
        (self.session, self.synchronizes) = (session, synchronizes)
    }

    /// Commits jobs so that the failure of a store undoes only that store. `sized` receives the bytes of all objects.
    ///
    /// Stores rarely fail, so the first attempt uses no savepoints: for each, SQLite would copy the pages that the last
    /// one changed. If a store fails, the batch is rolled back and repeated as far as it had come, store by store, with
    /// savepoints.
    mutating func commit(
        _ jobs: ArraySlice<IndexJob>, _ connection: Connection, sized: (Int64) -> Void
    ) throws(StorageError) {
        do throws(StorageError) {
            do {
                return try carryOut(jobs, connection, isCareful: false, sized)
            } catch {
                guard hasFailed else { throw error }
            }
            try carryOut(jobs.prefix(count + 1), connection, isCareful: true, sized)
        } catch {
            undo()
            throw error
        }
    }

    private mutating func carryOut(
        _ jobs: ArraySlice<IndexJob>, _ connection: Connection, isCareful: Bool, _ sized: (Int64) -> Void
    ) throws(StorageError) {
        let start = ContinuousClock.now
        let desk = StoreDesk(
            connection: connection, directory: session.directory, synchronizes: synchronizes, mark: session.mark)
        let (isSlow, before) = (synchronizes || session.directory.isOnNetwork, published.count)
        (outcomes, count, run) = ([], 0, [])
        outcomes.reserveCapacity(jobs.count)
        var longest = isSlow ? 1 : Self.runs.first
        try connection.transaction { () throws(StorageError) in
            // By places, because a loop over elements would copy each job.
            for place in jobs.indices {
                try add(jobs[place].work, desk, isCareful: isCareful)
                count += 1
                if run.count >= longest {
                    try endRun(desk)
                    if !isSlow { longest = min(2 * longest, Self.runs.longest) }
                }
                guard hasWorked, !isCareful else { continue }
                hasWorked = false
                if start.duration(to: .now) > Self.holding { break }
            }
            try endRun(desk)
            // Those of the first attempt whose stores have failed now.
            for object in published[..<before] where try connection.object(object.digest) == nil {
                session.directory.objects.remove(object)
            }
            sized(try connection.storedSize())
        }
    }

    private mutating func add(_ work: IndexJob.Work, _ desk: StoreDesk, isCareful: Bool) throws(StorageError) {
        switch work {
        case .change(let change, _):
            try endRun(desk)
            try carryOut(isCareful, desk) { _ throws(StorageError) in
                try change(desk.connection)
                return [nil]
            }
        case .group(let group, let submission):
            for place in submission.groups[group] {
                let known = submission.known?[place]
                if !isCareful, known == nil, case .put(let put) = submission.stores[place], put.isNewOriginal {
                    run.append(NewImage(put: put, time: submission.time))
                    continue
                }
                try endRun(desk)
                if let known {
                    outcomes.append(known)
                    continue
                }
                try carryOut(isCareful, desk) { published throws(StorageError) in
                    [try desk.carryOut(submission.stores[place], at: submission.time, &published)]
                }
            }
        }
    }

    /// Carries out the stores of the run.
    private mutating func endRun(_ desk: StoreDesk) throws(StorageError) {
        guard !run.isEmpty else { return }
        var rest = run[...]
        run.removeAll(keepingCapacity: true)
        while !rest.isEmpty {
            let count = try carryOut(false, desk) { published throws(StorageError) in
                try desk.carryOut(rest, &published)
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Adds the outcomes of `body`, which carries out stores or a change, and returns their number. `isCareful`: its
    /// failure undoes only itself and is its outcome.
    @discardableResult
    private mutating func carryOut(
        _ isCareful: Bool, _ desk: StoreDesk, _ body: (inout [StoredObject]) throws(StorageError) -> [Entry?]
    ) throws(StorageError) -> Int {
        hasWorked = true
        let start = published.count
        let result: Result<[Entry?], StorageError>
        do throws(StorageError) {
            result =
                isCareful
                ? try desk.connection.nested { () throws(StorageError) in try body(&published) }
                : .success(try body(&published))
        } catch {
            hasFailed = true
            throw error
        }
        switch result {
        case .success(let entries):
            for entry in entries { outcomes.append(.success(entry)) }
            return entries.count
        case .failure(let error):
            undo(from: start)
            outcomes.append(.failure(error))
            return 1
        }
    }

    /// Removes the files that were published after the first `count`. Without their rows they would be orphans until the
    /// next sweep.
    private mutating func undo(from count: Int = 0) {
        for object in published[count...] { session.directory.objects.remove(object) }
        published.removeSubrange(count...)
    }
}
