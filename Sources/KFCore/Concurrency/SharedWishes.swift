import Synchronization

/// What one of those who wait for the same work wants of it.
struct Wish: Sendable {
    /// From 0 to 1.
    var priority: Float = 0.5
    /// Bytes here so far, and in all if that is known.
    var progress: ProgressHandler?
    /// Takes the value as soon as it is there; the others wait until the work has ended.
    var isEarly = false
    /// Does not take a value that was there before it asked.
    var isForced = false
}

/// Told how far a transfer has come: bytes here so far, and in all if the server said so. Called on the network's
/// thread, which it must not hold up.
public typealias ProgressHandler = @Sendable (_ received: Int64, _ total: Int64?) -> Void

/// The wishes of all who wait for the same work. The work has the highest priority among them.
final class SharedWishes: Sendable {
    private struct State {
        var wishes: [Int: Wish] = [:]
        var priority: Float?
        var onPriority: (@Sendable (Float) -> Void)?
        var isOver = false
    }

    private let state = Mutex(State())

    func join(_ waiter: Int, _ wish: Wish) { change { $0.wishes[waiter] = wish } }

    func leave(_ waiter: Int) { change { $0.wishes[waiter] = nil } }

    /// The highest there is now.
    var priority: Float { state.withLock { $0.priority ?? 0.5 } }

    /// `tell` is called with each change that follows.
    func onPriorityChange(_ tell: @escaping @Sendable (Float) -> Void) {
        state.withLock { if !$0.isOver { $0.onPriority = tell } }
    }

    /// The work has ended. The wishes of a part and of its whole hold each other until then.
    func end() {
        let held = state.withLock { state in
            let held = state
            state = State(priority: held.priority, isOver: true)
            return held
        }
        // What it held goes outside the lock.
        _ = held
    }

    func report(_ received: Int64, _ total: Int64?) {
        let handlers = state.withLock { $0.wishes.values.compactMap(\.progress) }
        for handler in handlers { handler(received, total) }
    }

    private func change(_ body: (inout State) -> Void) {
        let news = state.withLock { state -> (tell: @Sendable (Float) -> Void, priority: Float)? in
            guard !state.isOver else { return nil }
            let old = state.priority
            body(&state)
            // When the last one has left, nothing matters any more.
            guard let highest = state.wishes.values.map(\.priority).max() else { return nil }
            state.priority = highest
            guard let old, old != highest, let tell = state.onPriority else { return nil }
            return (tell, highest)
        }
        if let news { news.tell(news.priority) }
    }
}
