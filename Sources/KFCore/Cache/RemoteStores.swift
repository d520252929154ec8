import KFStorage

/// What a cache itself needs of its remotes.
protocol RemoteStores: AnyObject, Sendable {
    /// What they have done since the cache was created.
    var counts: RemoteCounts { get }
    /// The error of a remote that is required; nil when there is none.
    var problem: KingfisherError? { get }
    /// Returns the counts since the last call, to be written to the disk cache.
    func takeUnwritten() -> RemoteCounts
    /// Limits the wait for uploads to `span` from now.
    func endWaiting(within span: Duration)
    /// Waits for the uploads, then releases the connections. Blocks.
    func finish()
}
