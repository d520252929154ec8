import Synchronization

/// Work on one thing that is done once for each key, whoever asks and however late; who asks while it runs waits.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let tasks = Mutex<[Key: Task<Result<Value, KingfisherError>, Never>]>([:])

    func value(
        for key: Key, work: @escaping @Sendable () async throws(KingfisherError) -> Value
    ) async throws(KingfisherError) -> Value {
        let task = tasks.withLock { tasks in
            if let task = tasks[key] { return task }
            let task = Task { () -> Result<Value, KingfisherError> in
                do throws(KingfisherError) { return .success(try await work()) } catch { return .failure(error) }
            }
            tasks[key] = task
            return task
        }
        return try await task.value.get()
    }
}
