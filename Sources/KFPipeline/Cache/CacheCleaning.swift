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

extension ImageCache.Configuration {
    /// Runs a removal from the disk and reports the removed entries to `didClean` once, at the end. `each` receives
    /// every entry. Without `didClean` and `each`, no names are looked up.
    package func tellingCleaned(
        _ each: ((EntryName) -> Void)? = nil, _ body: DiskStorage.Eviction
    ) throws(StorageError) -> Removal {
        guard let didClean else { return try body(each) }
        var cleaning = CacheCleaning()
        cleaning.removal = try body { name in
            cleaning.add(name)
            each?(name)
        }
        if cleaning.removal.entries > 0 { didClean(cleaning) }
        return cleaning.removal
    }
}
