import KFStorage

/// The way that an image came.
public enum RetrievalWay: String, Sendable {
    /// From memory.
    case memory
    /// From the disk cache.
    case disk
    /// Made from the cached original.
    case derived
    /// From the disk cache, after the origin said that it still is right.
    case revalidated
    /// Downloaded, or read from its provider.
    case fetched
    /// From the disk cache though expired, because the origin could not be asked.
    case stale
}

/// How storing went, memory and disk apart. Kingfisher's `CacheStoreResult`.
public struct CacheStoreResult: Sendable {
    /// How storing in one of the two went.
    public enum Outcome: Sendable {
        /// Nothing was to be stored there.
        case none
        /// It is there.
        case stored
        /// It is not there, and why; the image was given out all the same.
        case failed(KingfisherError)
    }

    /// How it went in memory.
    public var memory = Outcome.none
    /// How it went on the disk.
    public var disk = Outcome.none

    /// What went wrong on the disk, if something did.
    public var diskError: KingfisherError? {
        if case .failed(let error) = disk { return error }
        return nil
    }
}

/// An image that has been given out and could not be stored.
public struct CacheStoreFailure: Sendable {
    /// The name of the entry that was not stored.
    public let name: EntryName
    /// The reason.
    public let error: KingfisherError
}

/// What one cleaning took from the disk cache: what had expired, what was over the limit, or what was selected.
/// Kingfisher's notification `KingfisherDidCleanDiskCache`.
public struct CacheCleaning: Sendable {
    /// Names are kept of so many entries; a cleaning may remove millions.
    public static let nameLimit = 1000

    /// How many entries went, and their bytes.
    public internal(set) var removal = Removal()
    /// Of the first entries that went, at most `nameLimit`.
    public private(set) var names: [EntryName] = []

    mutating func add(_ name: EntryName) {
        if names.count < Self.nameLimit { names.append(name) }
    }
}
