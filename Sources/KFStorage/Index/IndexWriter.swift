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
    /// A batch ends when the lock has been held this long.
    private static let holding: Duration = .milliseconds(10)
    /// A change that may be dropped has, for the lock, waited long enough already.
    private static let longAgo = Duration.seconds(86_400)

    private let session: IndexSession
    private let synchronizes: Bool
    private let queue = DispatchQueue(label: "kf.index.writer")
    private let jobs = Mutex(JobQueue())
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
    /// `optional`: the change is dropped where it would have to wait for another process.
    func submit(
        urgent: Bool, optional: Bool = false, change: @escaping IndexJob.Change,
        completion: @escaping IndexJob.Completion
    ) {
        let since = optional ? ContinuousClock.now - Self.longAgo : urgent ? waitingSince : .now
        add([IndexJob(change, since: since, isOptional: optional, completion: completion)], urgent ? .none : .few)
    }

    /// Queues groups of orders. Each is part of one transaction.
    func submit(_ submission: OrderSubmission, _ company: Company) {
        // What is stored one by one has waited since the lock was first missed: of ten sources each would wait anew.
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
        let isUsed = connection.withLock { $0 != nil } || jobs.withLock { !$0.isIdle }
        guard isUsed || truncating else { return }
        queue.sync {
            drain(all: true)
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

    /// `all`: also what could wait for company.
    private func drain(all: Bool = false) {
        while true {
            switch jobs.withLock({ $0.take(all: all) }) {
            case .commit(let batch): commit(Self.ordered(batch))
            case .wait(let time): return schedule(time)
            case .stop: return
            }
        }
    }

    /// In the order of rows, so that a batch that is cut short changes neighbouring ones. Those of one row keep their order.
    private static func ordered(_ batch: [IndexJob]) -> [IndexJob] {
        guard batch.count > 1 else { return batch }
        var places: [(row: Int64, index: Int)] = []
        places.reserveCapacity(batch.count)
        for index in batch.indices { places.append((batch[index].place, index)) }
        places.sort { $0.row == $1.row ? $0.index < $1.index : $0.row < $1.row }
        return places.map { batch[$0.index] }
    }

    private func commit(_ batch: [IndexJob]) {
        let since = batch.lazy.map(\.since).min() ?? .now
        do throws(StorageError) {
            try prepare()
            try enterLock(since: since)
        } catch {
            return giveUp(batch, error)
        }
        let outcomes: [[IndexOrder.Outcome]]
        do throws(StorageError) {
            outcomes = try insideLock(isNoted: batch.contains { !$0.isOptional }) { connection throws(StorageError) in
                guard session.isInPlace else {
                    throw .system(call: "write", path: session.directory.root, errno: ENOENT)
                }
                let published = Mutex<[Publication]>([])
                do throws(StorageError) {
                    return try apply(batch, connection, published)
                } catch {
                    Self.undo(published)
                    throw error
                }
            }
        } catch {
            for job in batch { job.fail(error) }
            return
        }
        // What did not fit into the holding time goes first in the next batch.
        if outcomes.count < batch.count {
            jobs.withLock { $0.putBack(batch[outcomes.count...]) }
        }
        for (job, outcomes) in zip(batch, outcomes) { job.finish(outcomes) }
    }

    /// The lock was not to be had. Every change that has waited long enough fails, the others go on waiting.
    private func giveUp(_ batch: [IndexJob], _ error: StorageError) {
        let now = ContinuousClock.now
        let patience = session.directory.patience
        let failed = jobs.withLock { jobs -> [IndexJob] in
            guard error.isLocked else { return batch }
            let isOver = { (job: IndexJob) in patience.deadline(from: job.since) <= now }
            // A wait that ended before its time would begin anew for ever.
            guard batch.contains(where: isOver) else { return batch }
            jobs.putBack(batch[...])
            return jobs.remove(where: isOver)
        }
        for job in failed { job.fail(error) }
    }

    /// One order's failure undoes that order alone. Almost always none fails, so they first go without a savepoint
    /// each (for every one of which SQLite would copy the pages that the last one has changed). When one fails that has
    /// changed rows already, all of it is undone and done again with care: changes can be repeated.
    private func apply(
        _ batch: [IndexJob], _ connection: Connection, _ published: borrowing Mutex<[Publication]>
    ) throws(StorageError) -> [[IndexOrder.Outcome]] {
        var isSpoilt = false
        do {
            return try applyAll(batch, connection, published) { body throws(StorageError) in
                let before = connection.changes
                do throws(StorageError) {
                    return .success(try body())
                } catch {
                    isSpoilt = connection.changes != before
                    guard !isSpoilt, connection.isInTransaction else { throw error }
                    return .failure(error)
                }
            }
        } catch {
            guard isSpoilt else { throw error }
        }
        return try applyAll(batch, connection, published) { body throws(StorageError) in
            try connection.nested(body)
        }
    }

    /// `run` carries out an order so that its failure, unless it throws, leaves no trace in the index.
    private func applyAll(
        _ batch: [IndexJob], _ connection: Connection, _ published: borrowing Mutex<[Publication]>,
        run: (() throws(StorageError) -> Entry?) throws(StorageError) -> IndexOrder.Outcome
    ) throws(StorageError) -> [[IndexOrder.Outcome]] {
        let start = ContinuousClock.now
        let desk = OrderDesk(connection: connection, directory: session.directory, synchronizes: synchronizes)
        return try connection.transaction { () throws(StorageError) in
            var all: [[IndexOrder.Outcome]] = []
            all.reserveCapacity(batch.count)
            for job in batch {
                switch job.work {
                case .change(let change, _):
                    all.append([
                        try run { () throws(StorageError) in
                            try change(connection)
                            return nil
                        }
                    ])
                case .group(let number, let submission):
                    var outcomes: [IndexOrder.Outcome] = []
                    for order in submission.groups[number] {
                        let before = published.withLock { $0.count }
                        let outcome = try run { () throws(StorageError) in
                            try desk.carryOut(order, at: submission.time) { new in published.withLock { $0.append(new) }
                            }
                        }
                        if case .failure = outcome { Self.undo(published, from: before) }
                        outcomes.append(outcome)
                    }
                    all.append(outcomes)
                }
                if start.duration(to: .now) > Self.holding { break }
            }
            storedSize.store(try connection.storedSize(), ordering: .relaxed)
            return all
        }
    }

    /// Removes files that have got their places since there were so many.
    private static func undo(_ published: borrowing Mutex<[Publication]>, from count: Int = 0) {
        let undone = published.withLock { published in
            defer { published.removeLast(published.count - count) }
            return published[count...]
        }
        for publication in undone { publication.undo() }
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
            held = try session.makeWriter(synchronizes: synchronizes)
            try session.sweep()
        }
    }

    private func enterLock(since: ContinuousClock.Instant) throws(StorageError) {
        try session.writeLock().acquire(since: since)
        if let lock = session.lock { LockHolder.note(in: lock) }
    }

    /// Runs `body` with the lock, which is given back after it. `isNoted`: other processes look at the index again.
    private func insideLock<Value: Sendable>(
        isNoted: Bool = true, _ body: @Sendable (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try connection.withLock { held throws(StorageError) in
            guard let connection = held else { throw .readOnly(path: session.directory.root) }
            defer { shortenLog(connection) }
            defer { leaveLock() }
            let value = try body(connection)
            if isNoted { session.commits.note() }
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
