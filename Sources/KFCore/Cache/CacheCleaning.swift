import KFStorage
import KFTerms

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
