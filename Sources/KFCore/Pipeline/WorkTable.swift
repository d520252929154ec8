import KFImaging
import KFStorage
import Synchronization

/// A waiter for work in flight.
protocol WorkWaiter: AnyObject, Sendable {
    var wish: Wish { get }
    /// Notes the work. Returns false if the waiter no longer waits.
    func waits(for work: WorkInFlight) -> Bool
    /// Cancels the waiter, because the work was cancelled for all.
    func cancel()
    /// Takes the answer of the work. Called on a worker.
    func take(_ answer: WorkAnswer, in batch: StoreBatch)
}

/// Work in flight, shared by all of its waiters. After delivering its answer it stays in the table for late joiners,
/// until everything is stored.
///
/// `@unchecked Sendable`, because the table's lock protects its own state. Each subclass documents how its state is
/// protected.
class WorkInFlight: @unchecked Sendable {
    fileprivate enum Stage { case running, delivered, over }

    let key: WorkKey
    let table: WorkTable
    // The table's lock protects these.
    fileprivate var stage = Stage.running
    fileprivate var waiters: [any WorkWaiter]
    fileprivate var priority: Float {
        didSet { priorityBits.store(priority.bitPattern, ordering: .relaxed) }
    }
    /// The answer, from the delivery to the end.
    fileprivate var answer: WorkAnswer?

    // These can be read without the lock.
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

    /// The highest priority of the waiters.
    var highestPriority: Float { Float(bitPattern: priorityBits.load(ordering: .relaxed)) }

    /// Whether any waiter has a progress handler.
    var wantsProgress: Bool { hasProgress.load(ordering: .relaxed) }

    /// Ends the work when everything is stored. Later requests start new work.
    final func settled() { table.end(self) }

    /// Called when no waiter is left before the delivery.
    func abandon() {}

    /// Called when the highest priority of the waiters has changed.
    func change(priority: Float) {}
}

/// The table of work in flight.
final class WorkTable: Sendable {
    enum Joining {
        /// The work is new: the caller starts it.
        case started(WorkInFlight)
        case joined
        /// The work has already delivered this answer.
        case late(WorkAnswer)
        /// The waiter no longer waits.
        case left
    }

    private let works = Mutex<[WorkKey: WorkInFlight]>([:])

    /// Joins the work with this key, or adds the work that `make` returns.
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

    /// Removes a waiter. Without waiters, work that has not delivered is abandoned.
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

    /// Delivers the answer to all waiters. Later ones join late.
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

    /// Ends the work and delivers a final answer.
    func end(_ work: WorkInFlight, with answer: WorkAnswer, in batch: StoreBatch) {
        for waiter in end(work) { waiter.take(answer, in: batch) }
    }

    /// Ends the work, so that later requests start anew. Returns the remaining waiters.
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

    /// Returns whether the work has a waiter.
    func isWanted(_ work: WorkInFlight) -> Bool { works.withLock { _ in !work.waiters.isEmpty } }

    func report(_ received: Int64, _ total: Int64?, of work: WorkInFlight) {
        guard work.wantsProgress else { return }
        let handlers = works.withLock { _ in work.waiters.compactMap(\.wish.progress) }
        for handler in handlers { handler(received, total) }
    }

    /// Cancels all waiters of running work whose key matches. Work that has delivered is stored to its end.
    func cancel(where isMeant: (WorkKey) -> Bool) {
        let waiters = works.withLock { works in
            works.values.filter { $0.stage == .running && isMeant($0.key) }.flatMap(\.waiters)
        }
        for waiter in waiters { waiter.cancel() }
    }

    /// Returns the number of works in flight that fit.
    func count(where isMeant: (WorkInFlight) -> Bool) -> Int {
        works.withLock { $0.values.count { $0.stage == .running && isMeant($0) } }
    }

    private func priority(_ priority: Float, of key: WorkKey) {
        works.withLock { $0[key] }?.change(priority: priority)
    }
}

/// The identity of work: equal work is done once (single flight).
enum WorkKey: Hashable, Sendable {
    case download(DownloadKey)
    case remote(RemoteKey)
    case read(ReadKey)
    case make(MakeKey)
}

/// The answer of work to its waiters.
enum WorkAnswer: Sendable {
    case download(Result<DownloadAnswer, KingfisherError>)
    case made(MadeImage, Result<ProcessedImage, KingfisherError>)
}

/// The origin and the orders of a processed image.
struct MadeImage: Sendable {
    /// The orders that store it.
    let orders: OrderBook
    /// The download that it was made from; nil for a cached original.
    let downloaded: DownloadedImage?
}

/// Called with the number of bytes received so far, and the total if the server announced it. Called on the network
/// thread, or once on a worker if the call joins a download that has just ended. It must not block.
public typealias ProgressHandler = @Sendable (_ received: Int64, _ total: Int64?) -> Void

/// The wishes of one waiter about shared work.
struct Wish: Sendable {
    /// The priority, from 0 to 1.
    var priority: Float = 0.5
    var progress: ProgressHandler?
    /// Whether to reject an answer that was delivered before this request.
    var isForced = false
}

/// The identity of a processed image: callers with equal keys share it.
struct MakeKey: Hashable, Sendable {
    /// The bytes that the image is made from.
    enum Original: Hashable, Sendable {
        case downloaded(ObjectIdentifier)
        case stored(Digest)
    }

    let original: Original
    let target: EntryKey
    let cache: ObjectIdentifier?
    let limits: DecodeLimits?

    init(of original: Original, target: EntryKey, cache: ObjectIdentifier? = nil, limits: DecodeLimits? = nil) {
        self.original = original
        self.target = target
        self.cache = cache
        self.limits = limits
    }
}

/// The identity of a provider's read: calls with equal keys share it.
struct ReadKey: Hashable, Sendable {
    let key: EntryKey
    let inspector: ImageInspector
    let cache: ObjectIdentifier
}

/// A worker's task that passes a delivered answer to a late joiner.
final class LateJoin: StoreWork {
    private let waiter: any WorkWaiter
    private let answer: WorkAnswer
    private let reportsSize: Bool

    /// `reportsSize` is set for a transfer, which has reported its progress to the waiters of its time.
    init(_ waiter: any WorkWaiter, _ answer: WorkAnswer, reportsSize: Bool = false) {
        self.waiter = waiter
        self.answer = answer
        self.reportsSize = reportsSize
    }

    func run(in batch: StoreBatch) {
        if reportsSize, case .download(.success(.image(let image))) = answer {
            waiter.wish.progress?(image.bytes.size, image.bytes.size)
        }
        waiter.take(answer, in: batch)
    }
}
