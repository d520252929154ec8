/// A cancellable call. Kingfisher's `DownloadTask`.
public struct DownloadTask: Sendable {
    private let end: @Sendable () -> Void

    package init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    /// Starts `work`, and calls `handler` with its outcome on the queue, once.
    package init<Value: Sendable>(
        callingBackOn queue: CallbackQueue,
        _ handler: @escaping @Sendable (Result<Value, KingfisherError>) -> Void,
        _ work: @escaping @Sendable () async throws(KingfisherError) -> Value
    ) {
        let task = Task {
            let outcome: Result<Value, KingfisherError>
            do throws(KingfisherError) {
                outcome = .success(try await work())
            } catch {
                outcome = .failure(error)
            }
            queue.execute { handler(outcome) }
        }
        self.init { task.cancel() }
    }

    /// Ends the call with `taskCancelled` (1003), unless it has already ended. Other callers of the same image still
    /// get it.
    public func cancel() { end() }
}
