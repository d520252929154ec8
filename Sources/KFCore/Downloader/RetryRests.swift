import Synchronization

/// The spans that failed downloads wait before they are tried again. All of them end when nothing more is to start: an
/// interrupted run does not sit them out.
final class RetryRests: Sendable {
    private struct State {
        var rests: [Int: Task<Void, any Error>] = [:]
        var next = 0
        var isOver = false
    }

    private let state = Mutex(State())

    /// Waits that long. Throws `taskCancelled` (1003) when the task is cancelled or the rests are over.
    func rest(for span: Duration) async throws(KingfisherError) {
        let begun: (id: Int, task: Task<Void, any Error>)? = state.withLock { state in
            guard !state.isOver else { return nil }
            let task = Task { try await Task.sleep(for: span) }
            state.next += 1
            state.rests[state.next] = task
            return (state.next, task)
        }
        guard let (id, task) = begun else { throw .requestError(reason: .taskCancelled) }
        defer { state.withLock { _ = $0.rests.removeValue(forKey: id) } }
        do {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            throw .requestError(reason: .taskCancelled)
        }
    }

    /// From now on nobody rests.
    func end() {
        let rests = state.withLock { state in
            state.isOver = true
            return Array(state.rests.values)
        }
        for rest in rests { rest.cancel() }
    }
}
