import KFStorage
import KFTerms
import Synchronization

/// A store in flight, with the jobs that wait for it.
final class StoreOrder: Sendable {
    typealias Outcome = Result<StoredFile?, KingfisherError>

    private struct State {
        /// What is to be stored; nil while it is being prepared.
        var change: Store?
        var waiters: [ImageJob] = []
        /// Released at the end, because it may reference this order.
        var whenDone: (@Sendable (Outcome) -> Void)?
        var outcome: Outcome?
        /// Whether the stored image has been offered to a remote.
        var isShared = false
    }

    let cache: ImageCache
    private let state: Mutex<State>

    init(_ change: Store?, to cache: ImageCache, whenDone: (@Sendable (Outcome) -> Void)? = nil) {
        self.cache = cache
        state = Mutex(State(change: change, whenDone: whenDone))
    }

    /// Creates a store whose bytes could not be prepared.
    convenience init(failed error: KingfisherError, in cache: ImageCache) {
        self.init(nil, to: cache)
        state.withLock { $0.outcome = .failure(error) }
    }

    /// What is to be stored; nil while it is being prepared.
    var change: Store? { state.withLock { $0.change } }

    fileprivate func prepare(_ change: Store) { state.withLock { $0.change = change } }

    /// Returns whether the store has ended. Before the end, the job is notified later.
    func hasEnded(for job: ImageJob) -> Bool {
        state.withLock { state in
            if state.outcome == nil { state.waiters.append(job) }
            return state.outcome != nil
        }
    }

    /// The outcome; nil before the end.
    var outcome: Outcome? { state.withLock { $0.outcome } }

    /// Whether its bytes could be prepared, as far as is known.
    var isPrepared: Bool { state.withLock { $0.change != nil || $0.outcome == nil } }

    /// Whether the image was not stored, because its original had been replaced.
    var isOutdated: Bool {
        if case .success(nil)? = outcome { true } else { false }
    }

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
            state = State(change: state.change, outcome: outcome, isShared: state.isShared)
            return done
        }
        for job in done.waiters { job.stored(&turn) }
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
    /// The book of the download that the image is made from, which stays open as long as this one.
    private let parent: OrderBook?

    init(_ work: any SharedWork, of parent: OrderBook? = nil) {
        self.parent = parent
        state = Mutex(State(work: work))
        parent?.hold()
    }

    /// Returns the store of a key, and whether it is new, so that the caller submits it. `make` returns the change;
    /// nil if there is none.
    ///
    /// The key is reserved first. `make` runs without a lock, because on a full disk it waits for the writer, which
    /// calls `release`. A job that wants the same store meanwhile waits for its end.
    func order(
        for key: EntryKey, in cache: ImageCache, make: () throws(KingfisherError) -> Store?
    ) throws(KingfisherError) -> (order: StoreOrder, isNew: Bool)? {
        let (order, isNew) = state.withLock { state -> (StoreOrder, Bool) in
            if let known = state.orders.first(where: { $0.key == key && $0.order.cache === cache }) {
                return (known.order, false)
            }
            let order = StoreOrder(nil, to: cache) { [self] _ in release() }
            state.orders.append((key, order))
            state.pending += 1
            return (order, true)
        }
        guard isNew else { return (order, false) }
        do throws(KingfisherError) {
            if let change = try make() {
                order.prepare(change)
                return (order, true)
            }
            drop(order, .success(nil))
            return nil
        } catch {
            drop(order, .failure(error))
            throw error
        }
    }

    /// Ends a store that could not be prepared. A later job may try again.
    private func drop(_ order: StoreOrder, _ outcome: StoreOrder.Outcome) {
        state.withLock { $0.orders.removeAll { $0.order === order } }
        Turn.run { order.end(outcome, &$0) }
    }

    /// Keeps the book open until a call of `release`.
    func hold() { state.withLock { $0.pending += 1 } }

    func release() {
        let over = state.withLock { state -> (any SharedWork)? in
            state.pending -= 1
            guard state.pending == 0 else { return nil }
            defer { state.work = nil }
            return state.work
        }
        guard let over else { return }
        over.table.end(over)
        parent?.release()
    }
}
