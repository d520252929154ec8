import Dispatch
import Glibc
import KFStorage
import KFSystem
import Synchronization

/// Something for a worker to check, process or prepare to be stored.
protocol StoreWork: AnyObject, Sendable {
    /// Called once; blocks and computes. What is to be committed goes into the batch.
    func run(in batch: StoreBatch)
}

/// The threads that check, process and store what has come: one a processor, because the processors are the machine's.
/// What they prepare is handed to the index in arrays.
final class StoreWorkers: Sendable {
    static let shared = StoreWorkers(width: sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// For short calls that block on files and the index, and may not wait behind a decode.
    static let blocking = WorkerPool(label: "kf.look", width: 4)

    private struct State {
        /// Nil before `head`: work that has run must be let go even when the queue never empties.
        var works: [(any StoreWork)?] = []
        var head = 0
        var running = 0
    }

    /// A batch is handed on when it has so many orders, is so old, or nothing more waits.
    private static let mostOrders = 64
    private static let longest = Duration.milliseconds(5)

    private let width: Int
    private let queue = DispatchQueue(label: "kf.store", attributes: .concurrent)
    private let state = Mutex(State())

    init(width: Int) { self.width = max(1, width) }

    /// Returns at once. The queue is unbounded: whoever adds bounds what is under way.
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

    /// Nil when nothing waits; the thread then ends, unless it has something to hand on first.
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

/// What a worker has prepared: changes of the index, by cache, and outcomes that wait for nothing more. One thread's.
final class StoreBatch {
    private var groups: [(cache: ImageCache, orders: [StoreOrder], urgent: Bool)] = []
    private(set) var orders = 0
    private var first: ContinuousClock.Instant?
    var deliveries = Deliveries()

    var isEmpty: Bool { orders == 0 && deliveries.isEmpty }

    /// Orders of one image: they are committed together.
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
        // Nearly always there is one cache.
        var rest = groups[...]
        while let next = rest.first {
            let isSame = { (group: (cache: ImageCache, orders: [StoreOrder], urgent: Bool)) in
                group.cache === next.cache
            }
            let mine = rest.filter(isSame)
            rest = rest.filter { !isSame($0) }[...]
            next.cache.submit(mine.map(\.orders), urgent: mine.contains { $0.urgent })
        }
        deliveries.flush()
    }
}

/// Somebody who waits for orders.
protocol OrderWaiter: AnyObject, Sendable {
    /// One of the orders has ended; true when it was the last that it waits for.
    func orderEnded() -> Bool
}

/// Whose end depends on orders.
protocol Settling: AnyObject, Sendable {
    /// The last of the orders has ended.
    func settled()
}

/// A change of the index on its way, and who waits for it.
final class StoreOrder: Sendable {
    typealias Outcome = Result<StoredFile?, KingfisherError>

    private struct State {
        var waiters: [any OrderWaiter] = []
        /// Both of these are let go when it ends: they have this order in turn.
        var book: OrderBook?
        var whenDone: (@Sendable (Outcome) -> Void)?
        var outcome: Outcome?
    }

    let change: IndexOrder
    private let state: Mutex<State>

    init(_ change: IndexOrder, book: OrderBook? = nil, whenDone: (@Sendable (Outcome) -> Void)? = nil) {
        self.change = change
        state = Mutex(State(book: book, whenDone: whenDone))
    }

    /// How it ended; nil when the waiter will be told.
    func outcome(for waiter: any OrderWaiter) -> Outcome? {
        state.withLock { state in
            if state.outcome == nil { state.waiters.append(waiter) }
            return state.outcome
        }
    }

    /// How it ended; nil before that.
    var outcome: Outcome? { state.withLock { $0.outcome } }

    /// Gives those who wait for nothing more.
    func end(_ outcome: Outcome) -> [any OrderWaiter] {
        let done = state.withLock { state in
            let done = state
            state = State(outcome: outcome)
            return done
        }
        let ready = done.waiters.filter { $0.orderEnded() }
        done.whenDone?(outcome)
        done.book?.release()
        return ready
    }
}

/// What is stored of one image: each key once, whoever wants it and however late. When all of it is stored, the work
/// that brought the image is over.
final class OrderBook: Sendable {
    private struct Place: Hashable {
        let key: EntryKey
        let cache: ObjectIdentifier
    }

    private struct State {
        var orders: [Place: StoreOrder] = [:]
        /// One more than are under way, until `release` has been called for the work itself.
        var pending = 1
        /// Until it is over: the work has what it brought, and that has this.
        var work: (any Settling)?
    }

    private let state: Mutex<State>

    init(_ work: any Settling) { state = Mutex(State(work: work)) }

    /// The order for a key, and whether it is new and the caller's to submit. `make` gives the change, nil when there is
    /// nothing to do.
    func order(
        for key: EntryKey, in cache: ImageCache, make: () throws(KingfisherError) -> IndexOrder?
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
        let over = state.withLock { state -> (any Settling)? in
            state.pending -= 1
            guard state.pending == 0 else { return nil }
            defer { state.work = nil }
            return state.work
        }
        over?.settled()
    }
}
