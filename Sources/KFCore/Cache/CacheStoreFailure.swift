import KFStorage

/// An image that has been given out and could not be stored.
public struct CacheStoreFailure: Sendable {
    /// What was to be stored.
    public let name: EntryName
    /// Why it was not.
    public let error: KingfisherError
}
