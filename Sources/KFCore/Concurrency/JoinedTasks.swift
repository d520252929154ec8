import Synchronization

/// Work that several callers want at once is done once: who comes while it runs waits for the same result. Each waiter
/// can leave on its own; when the last one leaves, the work is cancelled.
final class JoinedTasks<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, KingfisherError>

    /// What the work sees of those who wait for it.
    struct Flight: Sendable {
        let wishes: SharedWishes
        /// Gives the value to those who take it early, and to those of them who come until the work has ended.
        let deliver: @Sendable (Value) -> Void
    }

    private struct Waiter {
        let continuation: CheckedContinuation<Outcome, Never>
        let isEarly: Bool
    }

    private struct Entry {
        let number: Int
        let task: Task<Void, Never>
        let wishes: SharedWishes
        var waiters: [Int: Waiter] = [:]
        var delivered: Value?
    }

    /// What joining came to, to be acted on outside the lock.
    private enum Joining {
        case waits(SharedWishes)
        case has(Value)
        case left
    }

    private struct State {
        var flights: [Key: Entry] = [:]
        var next = 0
        /// Waiters that were cancelled before they began to wait.
        var left: Set<Int> = []
    }

    private let state = Mutex(State())

    /// `work` sees what all who wait for it wish, from the first one's joining on.
    func value(
        for key: Key, wish: Wish = Wish(),
        work: @escaping @Sendable (Flight) async throws(KingfisherError) -> Value
    ) async throws(KingfisherError) -> Value {
        let waiter = state.withLock { state in
            state.next += 1
            return state.next
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in join(key, waiter, wish, continuation, work) }
        } onCancel: {
            leave(key, waiter)
        }
        state.withLock { _ = $0.left.remove(waiter) }
        return try outcome.get()
    }

    private func join(
        _ key: Key, _ waiter: Int, _ wish: Wish, _ continuation: CheckedContinuation<Outcome, Never>,
        _ work: @escaping @Sendable (Flight) async throws(KingfisherError) -> Value
    ) {
        var displaced: Entry?
        let joining = state.withLock { state -> Joining in
            if state.left.remove(waiter) != nil { return .left }
            if let value = state.flights[key]?.delivered {
                if wish.isForced {
                    displaced = state.flights.removeValue(forKey: key)
                } else if wish.isEarly {
                    return .has(value)
                }
            }
            if state.flights[key] == nil {
                state.next += 1
                let number = state.next
                let wishes = SharedWishes()
                wishes.join(waiter, wish)
                let flight = Flight(wishes: wishes, deliver: { [self] in deliver(key, number, $0) })
                let task = Task { [self] in
                    let outcome: Outcome
                    do throws(KingfisherError) { outcome = .success(try await work(flight)) } catch {
                        outcome = .failure(error)
                    }
                    land(key, number, outcome)
                }
                state.flights[key] = Entry(number: number, task: task, wishes: wishes)
            }
            state.flights[key]?.waiters[waiter] = Waiter(continuation: continuation, isEarly: wish.isEarly)
            return state.flights[key].map { .waits($0.wishes) } ?? .left
        }
        switch joining {
        // Joining twice is joining once. Whoever is told of a change of priority is told outside the lock.
        case .waits(let wishes): wishes.join(waiter, wish)
        case .has(let value): continuation.resume(returning: .success(value))
        case .left: continuation.resume(returning: .failure(.requestError(reason: .taskCancelled)))
        }
        if let displaced, let value = displaced.delivered {
            for waiter in displaced.waiters.values { waiter.continuation.resume(returning: .success(value)) }
        }
    }

    private func leave(_ key: Key, _ waiter: Int) {
        let (continuation, abandoned, wishes) = state.withLock { state in
            let wishes = state.flights[key]?.wishes
            guard let continuation = state.flights[key]?.waiters.removeValue(forKey: waiter)?.continuation else {
                // Either it has not begun to wait, or it has its result and will never look here again.
                state.left.insert(waiter)
                return (CheckedContinuation<Outcome, Never>?.none, Task<Void, Never>?.none, SharedWishes?.none)
            }
            guard let entry = state.flights[key], entry.waiters.isEmpty, entry.delivered == nil else {
                return (continuation, nil, wishes)
            }
            return (continuation, state.flights.removeValue(forKey: key)?.task, wishes)
        }
        wishes?.leave(waiter)
        if abandoned != nil { wishes?.end() }
        abandoned?.cancel()
        continuation?.resume(returning: .failure(.requestError(reason: .taskCancelled)))
    }

    /// Ends the work for the keys that fit; all who wait for it are told that they were cancelled.
    func cancel(where isMeant: (Key) -> Bool) {
        let flights = state.withLock { state in
            // What is there already is only being kept.
            let keys = state.flights.filter { isMeant($0.key) && $0.value.delivered == nil }.keys
            return keys.compactMap { state.flights.removeValue(forKey: $0) }
        }
        for flight in flights {
            flight.task.cancel()
            flight.wishes.end()
            for waiter in flight.waiters.values {
                waiter.continuation.resume(returning: .failure(.requestError(reason: .taskCancelled)))
            }
        }
    }

    private func deliver(_ key: Key, _ number: Int, _ value: Value) {
        let waiters = state.withLock { state -> [Waiter] in
            guard var entry = state.flights[key], entry.number == number else { return [] }
            let early = entry.waiters.filter(\.value.isEarly)
            for waiter in early.keys { entry.waiters[waiter] = nil }
            entry.delivered = value
            state.flights[key] = entry
            return Array(early.values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: .success(value)) }
    }

    private func land(_ key: Key, _ number: Int, _ outcome: Outcome) {
        let flight = state.withLock { state -> Entry? in
            // A flight that everybody left may land after another one for the same key has started.
            guard state.flights[key]?.number == number else { return nil }
            return state.flights.removeValue(forKey: key)
        }
        guard let flight else { return }
        flight.wishes.end()
        for waiter in flight.waiters.values { waiter.continuation.resume(returning: outcome) }
    }
}
