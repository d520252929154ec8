import KFStorage
import KFTerms
import Synchronization

/// A store in flight, with the jobs that wait for it.
final class StoreOrder: Sendable {
    typealias Outcome = Result<StoredFile?, KingfisherError>

    private struct State {
        var waiters: [ImageJob] = []
        /// Released at the end, because it may reference this order.
        var whenDone: (@Sendable (Outcome) -> Void)?
        var outcome: Outcome?
        /// Whether the stored image has been offered to a remote.
        var isShared = false
    }

    let change: Store
    let cache: ImageCache
    private let state: Mutex<State>

    init(_ change: Store, to cache: ImageCache, whenDone: (@Sendable (Outcome) -> Void)? = nil) {
        self.change = change
        self.cache = cache
        state = Mutex(State(whenDone: whenDone))
    }

    /// Returns whether the store has ended. Before the end, the job is notified later.
    func hasEnded(for job: ImageJob) -> Bool {
        state.withLock { state in
            if state.outcome == nil { state.waiters.append(job) }
            return state.outcome != nil
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

    /// Ends the store, and concludes the jobs for which this was the last one.
    func end(_ outcome: Outcome, _ turn: inout Turn) {
        let done = state.withLock { state in
            let done = state
            state = State(outcome: outcome, isShared: state.isShared)
            return done
        }
        for job in done.waiters { job.storeEnded(&turn) }
        done.whenDone?(outcome)
    }
}

/// The stores of one image and of what is made from it: each key is stored once, for all jobs and however late they
/// join. When all of them have ended, the work that brought the image is over.
final class OrderBook: Sendable {
    private struct State {
        var orders: [(key: EntryKey, order: StoreOrder)] = []
        /// The number of stores in flight, plus one until `release` is called for the work itself.
        var pending = 1
        /// The work, released at the end because it references this book.
        var work: (any SharedWork)?
    }

    private let state: Mutex<State>

    init(_ work: any SharedWork) { state = Mutex(State(work: work)) }

    /// Returns the store of a key, and whether it is new, so that the caller submits it. `make` returns the change;
    /// nil if there is none.
    func order(
        for key: EntryKey, in cache: ImageCache, make: () throws(KingfisherError) -> Store?
    ) throws(KingfisherError) -> (order: StoreOrder, isNew: Bool)? {
        try state.withLock { state throws(KingfisherError) in
            if let known = state.orders.first(where: { $0.key == key && $0.order.cache === cache }) {
                return (known.order, false)
            }
            guard let change = try make() else { return nil }
            let order = StoreOrder(change, to: cache) { [self] _ in release() }
            state.orders.append((key, order))
            state.pending += 1
            return (order, true)
        }
    }

    func release() {
        let over = state.withLock { state -> (any SharedWork)? in
            state.pending -= 1
            guard state.pending == 0 else { return nil }
            defer { state.work = nil }
            return state.work
        }
        if let over { over.table.end(over) }
    }
}
