/// A retrieval that a callback waits for. Kingfisher's `DownloadTask`.
public struct DownloadTask: Sendable {
    private let task: Task<Void, Never>

    init(_ task: Task<Void, Never>) { self.task = task }

    /// The callback is told `taskCancelled` (1003), unless it has its result already. Others who wait for the same
    /// image still get it.
    public func cancel() { task.cancel() }
}
