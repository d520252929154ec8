import KFSystem

/// The entries and partial downloads that a removal removed.
public struct Removal: Sendable, Equatable {
    /// The number of entries.
    public private(set) var entries = 0
    /// The bytes of the entries' files. A file that several entries share counts once, when none of them is left.
    public private(set) var bytes: Int64 = 0
    /// The number of partial downloads.
    public private(set) var partials = 0
    /// The bytes of the partial downloads.
    public private(set) var partialBytes: Int64 = 0

    /// Whether nothing was removed.
    public var isEmpty: Bool { entries == 0 && partials == 0 }

    package init() {}

    package mutating func add(entries: Int, bytes: Int64) {
        self.entries += entries
        self.bytes = self.bytes.adding(saturating: bytes)
    }

    package mutating func add(_ sum: PartialSum) {
        partials += sum.count
        partialBytes = partialBytes.adding(saturating: sum.bytes)
    }

    package mutating func add(_ other: Removal) {
        add(entries: other.entries, bytes: other.bytes)
        partials += other.partials
        partialBytes = partialBytes.adding(saturating: other.partialBytes)
    }
}
