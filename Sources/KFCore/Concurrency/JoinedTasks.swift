import Synchronization

/// Work that several callers want at once is done once: who comes while it runs waits for the same result. Each waiter
/// can leave on its own; when the last one leaves, the work is cancelled.
final class JoinedTasks<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, KingfisherError>

    private struct Flight {
        let number: Int
        let task: Task<Void, Never>
        let wishes: SharedWishes
        var waiters: [Int: CheckedContinuation<Outcome, Never>] = [:]
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var next = 0
        /// Waiters that were cancelled before they began to wait.
        var left: Set<Int> = []
    }

    private let state = Mutex(State())

    /// `work` sees what all who wait for it wish, from the first one's joining on.
    func value(
        for key: Key, wish: Wish = Wish(),
        work: @escaping @Sendable (SharedWishes) async throws(KingfisherError) -> Value
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
        _ work: @escaping @Sendable (SharedWishes) async throws(KingfisherError) -> Value
    ) {
        let wishes = state.withLock { state -> SharedWishes? in
            if state.left.remove(waiter) != nil { return nil }
            if state.flights[key] == nil {
                state.next += 1
                let number = state.next
                let wishes = SharedWishes()
                wishes.join(waiter, wish)
                let task = Task { [self] in
                    let outcome: Outcome
                    do throws(KingfisherError) { outcome = .success(try await work(wishes)) } catch {
                        outcome = .failure(error)
                    }
                    land(key, number, outcome)
                }
                state.flights[key] = Flight(number: number, task: task, wishes: wishes)
            }
            state.flights[key]?.waiters[waiter] = continuation
            return state.flights[key]?.wishes
        }
        // Joining twice is joining once. Whoever is told of a change of priority is told outside the lock.
        wishes?.join(waiter, wish)
        wish.source?.onPriorityChange { wishes?.join(waiter, Wish(priority: $0, progress: wish.progress)) }
        if wishes == nil { continuation.resume(returning: .failure(.requestError(reason: .taskCancelled))) }
    }

    private func leave(_ key: Key, _ waiter: Int) {
        let (continuation, abandoned, wishes) = state.withLock { state in
            let wishes = state.flights[key]?.wishes
            guard let continuation = state.flights[key]?.waiters.removeValue(forKey: waiter) else {
                // Either it has not begun to wait, or it has its result and will never look here again.
                state.left.insert(waiter)
                return (CheckedContinuation<Outcome, Never>?.none, Task<Void, Never>?.none, SharedWishes?.none)
            }
            guard state.flights[key]?.waiters.isEmpty == true else { return (continuation, nil, wishes) }
            return (continuation, state.flights.removeValue(forKey: key)?.task, wishes)
        }
        wishes?.leave(waiter)
        abandoned?.cancel()
        continuation?.resume(returning: .failure(.requestError(reason: .taskCancelled)))
    }

    /// Ends the work for the keys that fit; all who wait for it are told that they were cancelled.
    func cancel(where isMeant: (Key) -> Bool) {
        let flights = state.withLock { state in
            let keys = state.flights.keys.filter(isMeant)
            return keys.compactMap { state.flights.removeValue(forKey: $0) }
        }
        for flight in flights {
            flight.task.cancel()
            for waiter in flight.waiters.values {
                waiter.resume(returning: .failure(.requestError(reason: .taskCancelled)))
            }
        }
    }

    private func land(_ key: Key, _ number: Int, _ outcome: Outcome) {
        let waiters = state.withLock { state -> [CheckedContinuation<Outcome, Never>] in
            // A flight that everybody left may land after another one for the same key has started.
            guard state.flights[key]?.number == number else { return [] }
            return state.flights.removeValue(forKey: key).map { Array($0.waiters.values) } ?? []
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }
}
