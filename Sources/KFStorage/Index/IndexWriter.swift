import Dispatch
import Glibc
import Synchronization

/// The only writer of the index in a process. Changes wait in a queue, and each batch of them is one transaction under
/// the cache's write lock.
///
/// kf's own lock is taken before SQLite's. A small writer that waited inside SQLite starved for 2.1 s beside two
/// prefetchers; with a blocking lock in front it waited 33 ms. A change that has waited as long as the patience allows
/// fails with `locked`.
final class IndexWriter: Sendable {
    /// The assumed wait of an optional change, with which its patience is over from the start.
    private static let longAgo = Duration.seconds(86_400)

    private let session: IndexSession
    private let synchronizes: Bool
    private let queue = DispatchQueue(label: "kf.index.writer")
    private let jobs = Mutex(JobQueue())
    private let connection = Mutex<Connection?>(nil)
    /// The number of pages in the log at the last checkpoint.
    private let checkpointed = Mutex<Int>(0)
    /// The bytes of all objects after this process's last batch.
    let storedSize = Atomic<Int64>(0)

    /// Creates a writer. `synchronizes`: each commit waits until it is on the disk.
    init(_ session: IndexSession, synchronizes: Bool = false) {
        self.session = session
        self.synchronizes = synchronizes
    }

    /// Queues a change. `completion` is called once, on the writer's thread, after the commit. An `optional` change is
    /// dropped instead of waiting for another process.
    func submit(
        optional: Bool = false, change: @escaping IndexJob.Change,
        completion: @escaping IndexJob.Completion = { _ in }
    ) {
        let since = optional ? ContinuousClock.now - Self.longAgo : .now
        add([IndexJob(change, since: since, isOptional: optional, completion: completion)], .few)
    }

    /// Queues groups of stores. Each group is committed in one transaction.
    func submit(_ submission: Submission, _ company: Company) {
        // The wait of a single store counts from when the lock was first missed. Else each of ten sources would wait
        // anew.
        let since = company.span == nil ? waitingSince : .now
        add(submission.groups.indices.map { IndexJob($0, of: submission, since: since) }, company)
    }

    private func add(_ added: [IndexJob], _ company: Company) {
        if let time = jobs.withLock({ $0.add(added, company) }) { schedule(time) }
    }

    private func schedule(_ time: DispatchTime) {
        if time <= .now() {
            queue.async { [self] in drain() }
        } else {
            queue.asyncAfter(deadline: time) { [self] in drain() }
        }
    }

    /// Applies a change and waits for the commit; blocks the calling thread. Used for removals and repairs, which must
    /// also work on a full disk.
    func perform<Value: Sendable>(
        _ change: (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        let since = waitingSince
        let result: Result<Value, StorageError> = queue.sync {
            Result { () throws(StorageError) in
                try session.directory.sparing { () throws(StorageError) in
                    try prepare()
                    try enterLock(since: since)
                    return try insideLock { connection throws(StorageError) in
                        try connection.transaction { () throws(StorageError) in try change(connection) }
                    }
                }
            }
        }
        return try result.get()
    }

    /// Waits until the present transaction of this process has ended, if there is one.
    func awaitTransaction() { connection.withLock { _ in } }

    /// Commits all waiting changes. `truncating` also empties the log, so that the index is one file.
    func flush(truncating: Bool) {
        // Without a connection nothing was ever written, so the queue's thread is not started.
        let isUsed = connection.withLock { $0 != nil } || jobs.withLock { !$0.isIdle }
        guard isUsed || truncating else { return }
        queue.sync {
            drain(all: true)
            guard truncating, session.directory.logSize > 0 else { return }
            // If another process is writing, or this fails, the next writer empties the log.
            bestEffort {
                try prepare()
                guard try session.writeLock().tryAcquire() else { return }
                try insideLock { connection throws(StorageError) in try connection.checkpoint(truncating: true) }
            }
        }
    }

    /// The start of the wait for a change that is queued now: the time at which the lock was first missed, or now.
    private var waitingSince: ContinuousClock.Instant { lock?.blockedSince ?? .now }

    /// The write lock; nil if it cannot be opened, which the next change reports.
    private var lock: BoundedLock? { bestEffort(session.writeLock) }

    /// Commits the due jobs. `all`: also jobs that could wait longer for a group commit.
    private func drain(all: Bool = false) {
        while true {
            switch jobs.withLock({ $0.take(all: all) }) {
            case .commit(let batch):
                var rest = Self.ordered(batch)[...]
                while !rest.isEmpty { rest = commit(rest) }
            case .wait(let time): return schedule(time)
            case .stop: return
            }
        }
    }

    /// Sorts jobs by row, so that a batch that is cut short changes neighbouring rows. Jobs of one row keep their
    /// order.
    private static func ordered(_ batch: [IndexJob]) -> [IndexJob] {
        guard batch.count > 1 else { return batch }
        var places: [(row: Int64, index: Int)] = []
        places.reserveCapacity(batch.count)
        for index in batch.indices { places.append((batch[index].place, index)) }
        places.sort { $0.row == $1.row ? $0.index < $1.index : $0.row < $1.row }
        return places.map { batch[$0.index] }
    }

    /// Commits as many of the jobs as fit into the holding time. Returns the others.
    private func commit(_ batch: ArraySlice<IndexJob>) -> ArraySlice<IndexJob> {
        // By places, because a loop over elements would copy each job.
        var since = ContinuousClock.now
        for place in batch.indices { since = min(since, batch[place].since) }
        do throws(StorageError) {
            try prepare()
            try enterLock(since: since)
        } catch {
            giveUp(batch, error)
            return []
        }
        var done = StoreBatch(session, synchronizes: synchronizes)
        do throws(StorageError) {
            try insideLock(isNoted: batch.contains { !$0.isOptional }) { connection throws(StorageError) in
                guard session.isInPlace else {
                    throw .system(call: "write", path: session.directory.root, errno: ENOENT)
                }
                try done.commit(batch, connection) { storedSize.store($0, ordering: .relaxed) }
            }
        } catch {
            for job in batch { job.fail(error) }
            return []
        }
        session.directory.growReserve(stored: storedSize.load(ordering: .relaxed))
        var outcomes = done.outcomes[...]
        let finished = batch.prefix(done.count)
        for place in finished.indices {
            finished[place].finish(outcomes.prefix(finished[place].rows))
            outcomes = outcomes.dropFirst(finished[place].rows)
        }
        return batch.dropFirst(finished.count)
    }

    /// Handles a failure to get the lock: changes that have waited long enough fail, the others keep waiting.
    private func giveUp(_ batch: ArraySlice<IndexJob>, _ error: StorageError) {
        let now = ContinuousClock.now
        let lock = lock
        let failed = jobs.withLock { jobs -> [IndexJob] in
            guard error.isLocked, let lock else { return Array(batch) }
            let isOver = { (job: IndexJob) in lock.deadline(from: job.since) <= now }
            // If no wait is over, the batch fails: it would otherwise start over for ever.
            guard batch.contains(where: isOver) else { return Array(batch) }
            jobs.putBack(batch)
            return jobs.remove(where: isOver)
        }
        for job in failed { job.fail(error) }
    }

    // The functions below are called only on the queue of the writer.

    /// Opens the connection before the first change.
    private func prepare() throws(StorageError) {
        try connection.withLock { held throws(StorageError) in
            guard held == nil else { return }
            held = try session.makeWriter(synchronizes: synchronizes)
            try session.sweep()
        }
    }

    private func enterLock(since: ContinuousClock.Instant) throws(StorageError) {
        try session.writeLock().acquire(since: since)
        if let lock = session.lock { LockHolder.note(getpid(), in: lock) }
    }

    /// Runs `body` and releases the lock, which must be held. `isNoted`: moves the commit counter, so that other
    /// processes read the index again.
    private func insideLock<Value: Sendable>(
        isNoted: Bool = true, _ body: (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try connection.withLock { held throws(StorageError) in
            guard let connection = held else { throw .readOnly(path: session.directory.root) }
            defer { shortenLog(connection) }
            defer { leaveLock() }
            let value = try body(connection)
            if isNoted { session.commits.note() }
            if connection.logPages > Self.longestLog { try connection.checkpoint(truncating: true) }
            return value
        }
    }

    private func leaveLock() {
        if let lock = session.lock { LockHolder.note(0, in: lock) }
        lock?.release()
    }

    /// The lengths of the log, in pages of 4 KiB, at which it is checkpointed.
    ///
    /// At the first, the checkpoint runs without the lock: other writers would otherwise wait 5–50 ms for the disk.
    /// They can keep the log from becoming empty, so at the second it runs under the lock.
    private static let longLog = 4000
    private static let longestLog = 32_000

    private func shortenLog(_ connection: Connection) {
        let pages = connection.logPages
        checkpointed.withLock { last in
            // A log that was restarted is shorter than before.
            guard pages < last || pages - last > Self.longLog else { return }
            last = pages
            // A failure leaves the log unchanged, and the next batch tries again.
            if pages > Self.longLog { bestEffort { try connection.checkpoint(truncating: false) } }
        }
    }
}
