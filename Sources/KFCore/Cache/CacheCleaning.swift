import KFStorage

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
