import Synchronization

/// A signal that is given once and releases all waiters, present and future.
final class StopSignal: Sendable {
    private struct State {
        var isGiven = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    func give() {
        let waiters = state.withLock { state in
            state.isGiven = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits for the signal. Returns true when it has been given, false if the task is cancelled before.
    func wait() async -> Bool {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let passes = state.withLock { state in
                    if state.isGiven || Task.isCancelled { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if passes { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
        return state.withLock { $0.isGiven }
    }
}
