import Synchronization

/// Work on one thing that is done once for each key, whoever asks and however late; who asks while it runs waits. A
/// cancellation is nobody else's: the next one who asks does the work.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Outcome = Result<Value, KingfisherError>

    private enum Stage {
        case running([CheckedContinuation<Outcome, Never>])
        case done(Outcome)
    }

    private let stages = Mutex<[Key: Stage]>([:])

    func value(
        for key: Key, work: () async throws(KingfisherError) -> Value
    ) async throws(KingfisherError) -> Value {
        while true {
            let outcome: Outcome
            if begins(key) {
                do throws(KingfisherError) { outcome = .success(try await work()) } catch { outcome = .failure(error) }
                end(key, outcome)
                return try outcome.get()
            }
            outcome = await wait(for: key)
            if case .failure(let error) = outcome, error.isCancellation, !Task.isCancelled { continue }
            return try outcome.get()
        }
    }

    /// True for the one who is to do the work.
    private func begins(_ key: Key) -> Bool {
        stages.withLock { stages in
            guard stages[key] == nil else { return false }
            stages[key] = .running([])
            return true
        }
    }

    private func wait(for key: Key) async -> Outcome {
        await withCheckedContinuation { continuation in
            let outcome = stages.withLock { stages -> Outcome? in
                switch stages[key] {
                case .done(let outcome): return outcome
                case .running(let waiters):
                    stages[key] = .running(waiters + [continuation])
                    return nil
                // It was cancelled in between.
                case nil: return .failure(.requestError(reason: .taskCancelled))
                }
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }

    private func end(_ key: Key, _ outcome: Outcome) {
        let waiters = stages.withLock { stages -> [CheckedContinuation<Outcome, Never>] in
            guard case .running(let waiters) = stages[key] else { return [] }
            if case .failure(let error) = outcome, error.isCancellation {
                stages[key] = nil
            } else {
                stages[key] = .done(outcome)
            }
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }
}
