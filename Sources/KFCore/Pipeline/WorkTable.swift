import Synchronization

/// Somebody who waits for work.
protocol WorkWaiter: AnyObject, Sendable {
    var wish: Wish { get }
    /// False when it waits no more.
    func waits(for work: WorkInFlight) -> Bool
    /// The work was cancelled for all.
    func cancel()
    /// What the work brought. Called on a worker.
    func take(_ answer: WorkAnswer, in batch: StoreBatch)
}

/// Work that is under way once for all who want the same. It delivers what it brings, and stays in the table for those
/// who come late until all of that has been stored.
/// Unchecked, because its own state belongs to the table's lock; each kind of work says how its state is kept.
class WorkInFlight: Settling, @unchecked Sendable {
    fileprivate enum Stage { case running, delivered, over }

    let key: WorkKey
    let table: WorkTable
    // These belong to the table's lock.
    fileprivate var stage = Stage.running
    fileprivate var waiters: [any WorkWaiter]
    fileprivate var priority: Float {
        didSet { priorityBits.store(priority.bitPattern, ordering: .relaxed) }
    }
    /// From the delivery to the end.
    fileprivate var answer: WorkAnswer?

    // These can be read without it.
    private let priorityBits: Atomic<UInt32>
    fileprivate let hasProgress: Atomic<Bool>

    init(_ key: WorkKey, in table: WorkTable, for first: any WorkWaiter) {
        self.key = key
        self.table = table
        let wish = first.wish
        waiters = [first]
        priority = wish.priority
        priorityBits = Atomic(wish.priority.bitPattern)
        hasProgress = Atomic(wish.progress != nil)
    }

    /// The highest of those who wait.
    var highestPriority: Float { Float(bitPattern: priorityBits.load(ordering: .relaxed)) }

    /// Whether anybody is to be told how far it has come.
    var wantsProgress: Bool { hasProgress.load(ordering: .relaxed) }

    /// All that it has brought is stored: who wants the same from now on begins anew.
    final func settled() { table.end(self) }

    /// Nobody waits for it any more, and nothing has been delivered.
    func abandon() {}

    /// The highest priority of those who wait has changed.
    func change(priority: Float) {}
}

/// The work that is under way.
final class WorkTable: Sendable {
    enum Joining {
        /// It is new: the caller starts it.
        case started(WorkInFlight)
        case joined
        /// It has delivered already: the caller takes what there is.
        case late(WorkAnswer)
        /// The waiter waits no more.
        case left
    }

    private let works = Mutex<[WorkKey: WorkInFlight]>([:])

    /// Joins the work of this key, or what `make` makes.
    func join(_ key: WorkKey, _ waiter: any WorkWaiter, make: () -> WorkInFlight) -> Joining {
        let wish = waiter.wish
        var raised: Float?
        let joining = works.withLock { works -> Joining in
            if let work = works[key], work.stage != .over, !(wish.isForced && work.stage == .delivered) {
                if let answer = work.answer { return .late(answer) }
                guard waiter.waits(for: work) else { return .left }
                work.waiters.append(waiter)
                if wish.progress != nil { work.hasProgress.store(true, ordering: .relaxed) }
                if wish.priority > work.priority {
                    work.priority = wish.priority
                    raised = wish.priority
                }
                return .joined
            }
            let work = make()
            guard waiter.waits(for: work) else {
                work.stage = .over
                return .left
            }
            works[key] = work
            return .started(work)
        }
        if case .joined = joining, let raised { priority(raised, of: key) }
        return joining
    }

    /// One waiter leaves; the last one ends the work, unless it has delivered.
    func leave(_ work: WorkInFlight, _ waiter: any WorkWaiter) {
        let (isAbandoned, lowered) = works.withLock { works -> (Bool, Float?) in
            guard work.stage == .running else { return (false, nil) }
            work.waiters.removeAll { $0 === waiter }
            guard !work.waiters.isEmpty else {
                work.stage = .over
                if works[work.key] === work { works[work.key] = nil }
                return (true, nil)
            }
            let highest = work.waiters.map(\.wish.priority).max() ?? work.priority
            guard highest != work.priority else { return (false, nil) }
            work.priority = highest
            return (false, highest)
        }
        if isAbandoned { work.abandon() }
        if let lowered { work.change(priority: lowered) }
    }

    /// What the work brought is there: gives it to those who wait for it. From now on who comes is late.
    func deliver(_ answer: WorkAnswer, of work: WorkInFlight, in batch: StoreBatch) {
        let waiters = works.withLock { _ -> [any WorkWaiter] in
            guard work.stage == .running else { return [] }
            work.stage = .delivered
            work.answer = answer
            defer { work.waiters = [] }
            return work.waiters
        }
        for waiter in waiters { waiter.take(answer, in: batch) }
    }

    /// The work is over with this.
    func end(_ work: WorkInFlight, with answer: WorkAnswer, in batch: StoreBatch) {
        for waiter in end(work) { waiter.take(answer, in: batch) }
    }

    /// The work is over: who wants the same from now on begins anew. Gives those who still wait.
    @discardableResult
    func end(_ work: WorkInFlight) -> [any WorkWaiter] {
        works.withLock { works in
            if works[work.key] === work { works[work.key] = nil }
            work.stage = .over
            defer { (work.waiters, work.answer) = ([], nil) }
            return work.waiters
        }
    }

    /// The number of waiters for all work that has not delivered.
    var waiterCount: Int { works.withLock { $0.values.reduce(0) { $0 + $1.waiters.count } } }

    /// Whether anybody wants it.
    func isWanted(_ work: WorkInFlight) -> Bool { works.withLock { _ in !work.waiters.isEmpty } }

    func report(_ received: Int64, _ total: Int64?, of work: WorkInFlight) {
        guard work.wantsProgress else { return }
        let handlers = works.withLock { _ in work.waiters.compactMap(\.wish.progress) }
        for handler in handlers { handler(received, total) }
    }

    /// Ends the work for the keys that fit; all who wait for it are cancelled. What is there already is being stored.
    func cancel(where isMeant: (WorkKey) -> Bool) {
        let waiters = works.withLock { works in
            works.values.filter { $0.stage == .running && isMeant($0.key) }.flatMap(\.waiters)
        }
        for waiter in waiters { waiter.cancel() }
    }

    private func priority(_ priority: Float, of key: WorkKey) {
        works.withLock { $0[key] }?.change(priority: priority)
    }
}
