import KFStorage

/// An image that has been given out and could not be stored.
public struct CacheStoreFailure: Sendable {
    /// The name of the entry that was not stored.
    public let name: EntryName
    /// The reason.
    public let error: KingfisherError
}
