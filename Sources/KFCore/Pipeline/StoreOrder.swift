import KFStorage
import Synchronization

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
