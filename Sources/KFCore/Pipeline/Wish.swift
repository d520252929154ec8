/// Told how far a transfer has come: bytes here so far, and in all if the server said so. Called on the network's
/// thread, which it must not hold up.
public typealias ProgressHandler = @Sendable (_ received: Int64, _ total: Int64?) -> Void

/// What one of those who wait for the same work wants of it.
struct Wish: Sendable {
    /// From 0 to 1.
    var priority: Float = 0.5
    var progress: ProgressHandler?
    /// Does not take what was there before it asked.
    var isForced = false
}
