import KFStorage

/// The part of the remotes that the cache itself uses.
protocol RemoteStores: AnyObject, Sendable {
    /// The counts since the cache was created.
    var counts: RemoteCounts { get }
    /// The error of a remote that is required; nil when there is none.
    var problem: KingfisherError? { get }
    /// The number of uploads that have ended, and of all; nil when none is left.
    var uploadProgress: (done: Int, total: Int)? { get }
    /// Returns the counts since the last call, to be written to the disk cache.
    func takeUnwritten() -> RemoteCounts
    /// Limits the wait for uploads to `span` from now.
    func endWaiting(within span: Duration)
    /// Waits for the uploads, then releases the connections. Blocks.
    func finish()
}
