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
