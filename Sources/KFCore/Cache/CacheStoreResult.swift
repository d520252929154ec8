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

    /// The error on the disk; nil when there was none.
    public var diskError: KingfisherError? {
        if case .failed(let error) = disk { return error }
        return nil
    }
}

/// An image that was delivered but could not be stored.
public struct CacheStoreFailure: Sendable {
    /// The name of the entry that was not stored.
    public let name: EntryName
    /// The error that prevented the store.
    public let error: KingfisherError
}

/// The entries that one cleaning removed from the disk cache: expired, over the limit, or selected. Kingfisher's
/// notification `KingfisherDidCleanDiskCache`.
public struct CacheCleaning: Sendable {
    /// The largest number of names that are kept (1,000); a cleaning may remove millions of entries.
    public static let nameLimit = 1000

    /// The number and the bytes of removed entries and partial downloads.
    public internal(set) var removal = Removal()
    /// The names of the first removed entries, at most `nameLimit`.
    public private(set) var names: [EntryName] = []

    mutating func add(_ name: EntryName) {
        if names.count < Self.nameLimit { names.append(name) }
    }
}
