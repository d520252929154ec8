import KFStorage

/// The way an image was retrieved.
public enum RetrievalWay: String, Sendable {
    /// From the memory cache.
    case memory
    /// From the disk cache.
    case disk
    /// Processed from the cached original.
    case derived
    /// From the disk cache, after the origin confirmed that it is current.
    case revalidated
    /// Downloaded, or read from its data provider.
    case fetched
    /// From one of the cache's remotes.
    case remote
    /// From the disk cache although stale, because the origin could not be reached.
    case stale
    /// From the disk cache, which had the bytes with the expected hash under another URL.
    case pinned
    /// The image of the options for failures.
    case onFailure
}

/// The results of a store, for memory and disk separately. Kingfisher's `CacheStoreResult`.
public struct CacheStoreResult: Sendable {
    /// The result of a store in memory or on the disk.
    public enum Outcome: Sendable {
        /// No store was requested there.
        case none
        /// The image is stored.
        case stored
        /// The image is not stored, for this reason; it was delivered all the same.
        case failed(KingfisherError)
    }

    /// The result in memory.
    public var memory = Outcome.none
    /// The result on the disk.
    public var disk = Outcome.none
    /// The error that kept the original of an image off the disk that is stored itself; nil when there was none.
    public package(set) var originalError: KingfisherError?

    package init() {}

    /// The error on the disk; nil when there was none.
    public var diskError: KingfisherError? {
        if case .failed(let error) = disk { return error }
        return nil
    }
}
