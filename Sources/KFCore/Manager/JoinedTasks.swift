import Synchronization

/// Work that several callers want at once is done once: who comes while it runs waits for the same result. Each waiter
/// can leave on its own; when the last one leaves, the work is cancelled.
final class JoinedTasks<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, KingfisherError>

    private struct Flight {
        let number: Int
        let task: Task<Void, Never>
        var waiters: [Int: CheckedContinuation<Outcome, Never>] = [:]
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var next = 0
        /// Waiters that were cancelled before they began to wait.
        var left: Set<Int> = []
    }

    private let state = Mutex(State())

    func value(
        for key: Key, work: @escaping @Sendable () async throws(KingfisherError) -> Value
    ) async throws(KingfisherError) -> Value {
        let waiter = state.withLock { state in
            state.next += 1
            return state.next
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in join(key, waiter, continuation, work) }
        } onCancel: {
            leave(key, waiter)
        }
        state.withLock { _ = $0.left.remove(waiter) }
        return try outcome.get()
    }

    private func join(
        _ key: Key, _ waiter: Int, _ continuation: CheckedContinuation<Outcome, Never>,
        _ work: @escaping @Sendable () async throws(KingfisherError) -> Value
    ) {
        let hasLeft = state.withLock { state in
            if state.left.remove(waiter) != nil { return true }
            if state.flights[key] == nil {
                state.next += 1
                let number = state.next
                let task = Task { [self] in
                    let outcome: Outcome
                    do throws(KingfisherError) { outcome = .success(try await work()) } catch {
                        outcome = .failure(error)
                    }
                    land(key, number, outcome)
                }
                state.flights[key] = Flight(number: number, task: task)
            }
            state.flights[key]?.waiters[waiter] = continuation
            return false
        }
        if hasLeft { continuation.resume(returning: .failure(.requestError(reason: .taskCancelled))) }
    }

    private func leave(_ key: Key, _ waiter: Int) {
        let (continuation, abandoned) = state.withLock { state in
            guard let continuation = state.flights[key]?.waiters.removeValue(forKey: waiter) else {
                // Either it has not begun to wait, or it has its result and will never look here again.
                state.left.insert(waiter)
                return (CheckedContinuation<Outcome, Never>?.none, Task<Void, Never>?.none)
            }
            guard state.flights[key]?.waiters.isEmpty == true else { return (continuation, nil) }
            return (continuation, state.flights.removeValue(forKey: key)?.task)
        }
        abandoned?.cancel()
        continuation?.resume(returning: .failure(.requestError(reason: .taskCancelled)))
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
