import Dispatch
import Glibc
import Synchronization

/// The one place of a process that changes the index. Changes wait in a queue, and each batch of them is one
/// transaction under the cache's write lock.
///
/// The lock is ours and is taken before SQLite's: waiting inside SQLite let a small writer starve for 2.1 s beside two
/// prefetchers, with a blocking lock in front it was 33 ms. A change that has waited as long as the patience allows
/// fails with `locked`.
final class IndexWriter: Sendable {
    typealias Change = @Sendable (Connection) throws(StorageError) -> Void
    typealias Completion = @Sendable (Result<Void, StorageError>) -> Void

    private struct Job {
        /// When its waiting for other processes began.
        let since: ContinuousClock.Instant
        let change: Change
        let undo: @Sendable () -> Void
        let completion: Completion
    }

    private struct State {
        var jobs: [Job] = []
        var isDelayed = false
    }

    /// A batch ends at this many changes, or when the lock has been held this long.
    private static let batchCount = 64
    private static let holding: Duration = .milliseconds(10)
    /// A change that may be dropped has, for the lock, waited long enough already.
    private static let longAgo = Duration.seconds(86_400)
    /// How long a change that can wait waits for company.
    private static let gathering: DispatchTimeInterval = .milliseconds(5)

    private let session: IndexSession
    private let synchronizes: Bool
    private let queue = DispatchQueue(label: "kf.index.writer")
    private let state = Mutex(State())
    private let connection = Mutex<Connection?>(nil)
    /// Pages of the log at the last checkpoint.
    private let checkpointed = Mutex<Int>(0)
    /// Bytes of all objects after the last batch of this process.
    let storedSize = Atomic<Int64>(0)

    /// `synchronizes`: a commit waits until it is on the disk.
    init(_ session: IndexSession, synchronizes: Bool = false) {
        self.session = session
        self.synchronizes = synchronizes
    }

    /// Queues a change. `completion` is called once, on the writer's thread, after the commit.
    /// `undo` takes back what the change did outside the index, when it or the commit failed; still under the lock.
    /// `optional`: the change is dropped where it would have to wait for another process.
    func submit(
        urgent: Bool, optional: Bool = false, change: @escaping Change, undo: @escaping @Sendable () -> Void = {},
        completion: @escaping Completion
    ) {
        // What is stored one by one has waited since the lock was first missed: of ten sources each would wait anew.
        let now = ContinuousClock.now
        let since = optional ? now - Self.longAgo : urgent ? waitingSince : now
        let (atOnce, later) = state.withLock { state -> (Bool, Bool) in
            state.jobs.append(Job(since: since, change: change, undo: undo, completion: completion))
            let atOnce = urgent || state.jobs.count == Self.batchCount
            let later = !atOnce && !state.isDelayed
            if later { state.isDelayed = true }
            return (atOnce, later)
        }
        if atOnce {
            queue.async { [self] in drain() }
        } else if later {
            queue.asyncAfter(deadline: .now() + Self.gathering) { [self] in
                state.withLock { $0.isDelayed = false }
                drain()
            }
        }
    }

    /// Applies a change and waits for the commit; blocks the calling thread. What is done so is removing and repairing,
    /// which has to go on a full disk too.
    func perform<Value: Sendable>(
        _ change: @Sendable (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        let since = waitingSince
        let result: Result<Value, StorageError> = queue.sync {
            Result { () throws(StorageError) in
                try session.directory.sparing { () throws(StorageError) in
                    try underLock(waitingSince: since) { connection throws(StorageError) in
                        try connection.transaction { () throws(StorageError) in try change(connection) }
                    }
                }
            }
        }
        return try result.get()
    }

    /// Commits what waits; with `truncating`, also empties the log, so that the index is one file.
    func flush(truncating: Bool) {
        // Without a connection nothing was ever written, and the queue's thread need not be started to find that out.
        let isUsed = connection.withLock { $0 != nil } || state.withLock { !$0.jobs.isEmpty }
        guard isUsed || truncating else { return }
        queue.sync {
            drain()
            guard truncating, session.directory.logSize > 0 else { return }
            // Another process at work, or a failure, leaves the log where it is: the next writer empties it.
            _ = Result { () throws(StorageError) in
                try prepare()
                guard try session.writeLock().tryAcquire() else { return }
                try insideLock { connection throws(StorageError) in try connection.checkpoint(.truncating) }
            }
        }
    }

    /// When the wait of a change that is asked for now began.
    private var waitingSince: ContinuousClock.Instant {
        let lock = Result { () throws(StorageError) in try session.writeLock() }
        guard case .success(let lock) = lock else { return .now }
        return lock.blockedSince ?? .now
    }

    private func drain() {
        while true {
            let batch = state.withLock { state in
                let batch = Array(state.jobs.prefix(Self.batchCount))
                state.jobs.removeFirst(batch.count)
                return batch
            }
            if batch.isEmpty { return }
            commit(batch)
        }
    }

    private func commit(_ batch: [Job]) {
        let since = batch.map(\.since).min() ?? .now
        do throws(StorageError) {
            try prepare()
            try enterLock(since: since)
        } catch {
            return giveUp(batch, error)
        }
        let results: [Result<Void, StorageError>]
        do throws(StorageError) {
            results = try insideLock { connection throws(StorageError) in
                guard session.isInPlace else {
                    throw .system(call: "write", path: session.directory.root, errno: ENOENT)
                }
                do throws(StorageError) {
                    return try apply(batch, connection)
                } catch {
                    for job in batch { job.undo() }
                    throw error
                }
            }
        } catch {
            results = batch.map { _ in .failure(error) }
        }
        // What did not fit into the holding time goes first in the next batch.
        if results.count < batch.count {
            state.withLock { $0.jobs.insert(contentsOf: batch[results.count...], at: 0) }
        }
        for (job, result) in zip(batch, results) { job.completion(result) }
    }

    /// The lock was not to be had. Every change that has waited long enough fails, the others go on waiting.
    private func giveUp(_ batch: [Job], _ error: StorageError) {
        let now = ContinuousClock.now
        let patience = session.directory.patience
        let failed = state.withLock { state -> [Job] in
            guard error.isLocked else { return batch }
            let isOver = { (job: Job) in patience.deadline(from: job.since) <= now }
            // A wait that ended before its time would begin anew for ever.
            guard batch.contains(where: isOver) else { return batch }
            let all = batch + state.jobs
            state.jobs = all.filter { !isOver($0) }
            return all.filter(isOver)
        }
        for job in failed { job.completion(.failure(error)) }
    }

    /// One change's failure undoes that change alone. Almost always none fails, so they first go without a savepoint
    /// each (for every one of which SQLite would copy the pages that the last one has changed). When one fails that has
    /// changed rows already, all of it is undone and done again with care: changes can be repeated.
    private func apply(_ batch: [Job], _ connection: Connection) throws(StorageError) -> [Result<Void, StorageError>] {
        var isSpoilt = false
        do {
            return try applyAll(batch, connection) { job throws(StorageError) in
                let before = connection.changes
                do throws(StorageError) {
                    try job.change(connection)
                    return .success(())
                } catch {
                    isSpoilt = connection.changes != before
                    guard !isSpoilt, connection.isInTransaction else { throw error }
                    return .failure(error)
                }
            }
        } catch {
            guard isSpoilt else { throw error }
        }
        return try applyAll(batch, connection) { job throws(StorageError) in
            try connection.nested { () throws(StorageError) in try job.change(connection) }
        }
    }

    private func applyAll(
        _ batch: [Job], _ connection: Connection,
        _ body: (Job) throws(StorageError) -> Result<Void, StorageError>
    ) throws(StorageError) -> [Result<Void, StorageError>] {
        let start = ContinuousClock.now
        return try connection.transaction { () throws(StorageError) in
            var results: [Result<Void, StorageError>] = []
            for job in batch {
                let result = try body(job)
                if case .failure = result { job.undo() }
                results.append(result)
                if start.duration(to: .now) > Self.holding { break }
            }
            storedSize.store(try connection.storedSize(), ordering: .relaxed)
            return results
        }
    }

    /// Holds the cache's write lock; called on the writer's queue only, as is all that follows.
    private func underLock<Value: Sendable>(
        waitingSince since: ContinuousClock.Instant,
        _ body: @Sendable (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try prepare()
        try enterLock(since: since)
        return try insideLock(body)
    }

    /// Opens the connection ahead of the first change.
    private func prepare() throws(StorageError) {
        try connection.withLock { held throws(StorageError) in
            guard held == nil else { return }
            let writer = try session.makeWriter()
            if synchronizes { try writer.execute("PRAGMA synchronous = FULL") }
            held = writer
            try session.sweep()
        }
    }

    private func enterLock(since: ContinuousClock.Instant) throws(StorageError) {
        try session.writeLock().acquire(since: since)
        if let lock = session.lock { LockHolder.note(in: lock) }
    }

    /// Runs `body` with the lock, which is given back after it.
    private func insideLock<Value: Sendable>(
        _ body: @Sendable (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try connection.withLock { held throws(StorageError) in
            guard let connection = held else { throw .readOnly(path: session.directory.root) }
            defer { shortenLog(connection) }
            defer { leaveLock() }
            let value = try body(connection)
            session.commits.note()
            if connection.logPages > Self.longestLog { try connection.checkpoint(.truncating) }
            return value
        }
    }

    private func leaveLock() {
        if let lock = session.lock { LockHolder.clear(in: lock) }
        // It was opened to be taken.
        _ = Result { () throws(StorageError) in try session.writeLock().release() }
    }

    /// In pages (4 KiB): at this length the log is moved into the database, beside the other writers, who would else
    /// wait for the disk (5–50 ms). They can keep it from ever becoming empty; at the second length they do wait.
    private static let longLog = 4000
    private static let longestLog = 32_000

    private func shortenLog(_ connection: Connection) {
        let pages = connection.logPages
        checkpointed.withLock { last in
            // A log that was begun anew is shorter than it was.
            guard pages < last || pages - last > Self.longLog else { return }
            last = pages
            // A failure leaves the log as it is: nothing is lost, and the next batch tries again.
            if pages > Self.longLog { _ = Result { () throws(StorageError) in try connection.checkpoint(.passive) } }
        }
    }
}
