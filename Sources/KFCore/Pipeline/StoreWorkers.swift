import Dispatch
import Glibc
import KFStorage
import KFSystem
import Synchronization

/// Work for a worker thread: checking, processing or staging an image.
protocol StoreWork: AnyObject, Sendable {
    /// Runs the work, once. It blocks and computes, and adds its changes of the index to the batch.
    func run(in batch: StoreBatch)
}

/// The worker threads that check, process and stage images, one per processor. They hand their results to the index in
/// arrays.
final class StoreWorkers: Sendable {
    static let shared = StoreWorkers(width: sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// The look-up threads, for short calls that block on files and the index and must not wait behind a decode.
    static let blocking = WorkerPool(label: "kf.look", width: 4)

    private struct State {
        /// Nil before `head`, because finished work must be released even if the queue never empties.
        var works: [(any StoreWork)?] = []
        var head = 0
        var running = 0
    }

    /// The limits of a batch: number of orders and age. It is also flushed when no more work waits.
    private static let mostOrders = 64
    private static let longest = Duration.milliseconds(5)

    private let width: Int
    private let queue = DispatchQueue(label: "kf.store", attributes: .concurrent)
    private let state = Mutex(State())

    init(width: Int) { self.width = max(1, width) }

    /// Adds work, and returns at once. The queue is unbounded: callers bound the work in flight.
    func add(_ works: [any StoreWork]) {
        guard !works.isEmpty else { return }
        let starts = state.withLock { state in
            state.works += works.map { $0 }
            let starts = min(width - state.running, state.works.count - state.head)
            state.running += max(0, starts)
            return starts
        }
        for _ in 0..<max(0, starts) { queue.async { [self] in drain() } }
    }

    private func drain() {
        let batch = StoreBatch()
        while true {
            guard let work = next(unless: !batch.isEmpty) else {
                if batch.isEmpty { return }
                batch.flush()
                continue
            }
            work.run(in: batch)
            if batch.orders >= Self.mostOrders || batch.isOlder(than: Self.longest) { batch.flush() }
        }
    }

    /// Returns the next work; nil if there is none. The thread then ends, unless its batch must be flushed first.
    private func next(unless hasMore: Bool) -> (any StoreWork)? {
        state.withLock { state in
            guard state.head < state.works.count else {
                state.works.removeAll(keepingCapacity: state.works.capacity < 4096)
                state.head = 0
                if !hasMore { state.running -= 1 }
                return nil
            }
            let work = state.works[state.head]
            state.works[state.head] = nil
            state.head += 1
            if state.head > 1024, state.head * 2 > state.works.count {
                state.works.removeFirst(state.head)
                state.head = 0
            }
            return work
        }
    }
}

/// The results of a worker: changes of the index by cache, and outcomes that wait for nothing more. Used by one thread.
final class StoreBatch {
    private var groups: [(cache: ImageCache, orders: [StoreOrder], urgent: Bool)] = []
    private(set) var orders = 0
    private var first: ContinuousClock.Instant?
    var deliveries = Deliveries()
    /// The items for the next stages.
    var starts = BatchStarts()

    var isEmpty: Bool { orders == 0 && deliveries.isEmpty && starts.isEmpty }

    /// Adds the orders of one image, which are committed together.
    func add(_ group: [StoreOrder], to cache: ImageCache, urgent: Bool) {
        guard !group.isEmpty else { return }
        if first == nil { first = .now }
        orders += group.count
        groups.append((cache, group, urgent))
    }

    func isOlder(than span: Duration) -> Bool { first.map { $0.duration(to: .now) > span } ?? false }

    func flush() {
        let groups = groups
        self.groups = []
        orders = 0
        first = nil
        // There is nearly always only one cache.
        var rest = groups[...]
        while let next = rest.first {
            let isSame = { (group: (cache: ImageCache, orders: [StoreOrder], urgent: Bool)) in
                group.cache === next.cache
            }
            let mine = rest.filter(isSame)
            rest = rest.filter { !isSame($0) }[...]
            next.cache.submit(mine.map(\.orders), urgent: mine.contains { $0.urgent })
        }
        starts.flush()
        deliveries.flush()
    }
}

/// What a stage hands on: jobs whose sources are asked, and requests to remotes. Starting several together costs less
/// than starting each alone.
struct BatchStarts {
    var jobs: [ImageJob] = []
    var requests: [CacheLayerRequest] = []

    var isEmpty: Bool { jobs.isEmpty && requests.isEmpty }

    mutating func flush() {
        defer { (jobs, requests) = ([], []) }
        if !jobs.isEmpty { ImageJob.fetch(jobs) }
        if !requests.isEmpty { Remote.start(requests) }
    }
}

/// A change of the index in flight, with its waiters.
final class StoreOrder: Sendable {
    typealias Outcome = Result<StoredFile?, KingfisherError>

    private struct State {
        var waiters: [ImageJob] = []
        /// Both are released at the end, because they reference this order.
        var book: OrderBook?
        var whenDone: (@Sendable (Outcome) -> Void)?
        var outcome: Outcome?
        /// Whether the stored image has been offered to a remote.
        var isShared = false
    }

    let change: Store
    private let state: Mutex<State>

    init(_ change: Store, book: OrderBook? = nil, whenDone: (@Sendable (Outcome) -> Void)? = nil) {
        self.change = change
        state = Mutex(State(book: book, whenDone: whenDone))
    }

    /// Returns the outcome. Before the end, returns nil and notifies the waiter later.
    func outcome(for waiter: ImageJob) -> Outcome? {
        state.withLock { state in
            if state.outcome == nil { state.waiters.append(waiter) }
            return state.outcome
        }
    }

    /// The outcome; nil before the end.
    var outcome: Outcome? { state.withLock { $0.outcome } }

    /// Returns true for the first caller, which offers the stored image to a remote.
    func isToBeShared() -> Bool {
        state.withLock { state in
            defer { state.isShared = true }
            return !state.isShared
        }
    }

    /// Ends the order. Returns the waiters for which this was the last order.
    func end(_ outcome: Outcome) -> [ImageJob] {
        let done = state.withLock { state in
            let done = state
            state = State(outcome: outcome, isShared: state.isShared)
            return done
        }
        let ready = done.waiters.filter { $0.orderEnded() }
        done.whenDone?(outcome)
        done.book?.release()
        return ready
    }
}

/// The orders of one image and its variants: each key is stored once, for all jobs and however late they join. When all
/// orders have ended, the work that brought the image is over.
final class OrderBook: Sendable {
    private struct Place: Hashable {
        let key: EntryKey
        let cache: ObjectIdentifier
    }

    private struct State {
        var orders: [Place: StoreOrder] = [:]
        /// The number of orders in flight, plus one until `release` is called for the work itself.
        var pending = 1
        /// The work, released at the end because it references this book.
        var work: WorkInFlight?
    }

    private let state: Mutex<State>

    init(_ work: WorkInFlight) { state = Mutex(State(work: work)) }

    /// Returns the order for a key, and whether it is new, so that the caller submits it. `make` returns the change;
    /// nil if there is none.
    func order(
        for key: EntryKey, in cache: ImageCache, make: () throws(KingfisherError) -> Store?
    ) throws(KingfisherError) -> (order: StoreOrder, isNew: Bool)? {
        let place = Place(key: key, cache: ObjectIdentifier(cache))
        return try state.withLock { state throws(KingfisherError) in
            if let known = state.orders[place] { return (known, false) }
            guard let change = try make() else { return nil }
            let order = StoreOrder(change, book: self)
            state.orders[place] = order
            state.pending += 1
            return (order, true)
        }
    }

    func release() {
        let over = state.withLock { state -> WorkInFlight? in
            state.pending -= 1
            guard state.pending == 0 else { return nil }
            defer { state.work = nil }
            return state.work
        }
        over?.settled()
    }
}
