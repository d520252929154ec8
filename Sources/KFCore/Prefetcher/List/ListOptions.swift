import KFStorage

/// How lists are to be understood.
public struct ListOptions: Sendable {
    /// The column of csv and tsv that has the URLs.
    public enum Column: Sendable, Equatable {
        /// By what the first record calls it, in upper or lower case.
        case name(String)
        /// From 1.
        case number(Int)
    }

    /// Nil is what each file's name says.
    public var format: ListFormat?
    /// Nil is the column named `url`; without such a header the first.
    public var urlColumn: Column?
    /// Paths and file: URLs are taken, too.
    public var allowsLocal = false
    /// Takes only this part of the lists; nil takes all.
    public var shard: ListShard?

    /// The defaults.
    public init() {}
}

/// One of several parts of a list, each for another machine. A source is in the part that its cache key says, so that
/// the parts are the same whatever order the list has.
public struct ListShard: Sendable, Equatable {
    /// Which part, from 0.
    public let index: Int
    /// How many parts there are.
    public let count: Int

    /// Nil unless `index` is from 0 to `count` - 1.
    public init?(index: Int, count: Int) {
        guard count > 0, (0..<count).contains(index) else { return nil }
        self.index = index
        self.count = count
    }

    /// By the first 8 bytes of the key's SHA-256, big-endian, modulo the count.
    public func contains(key: String) -> Bool {
        var sha = SHA256()
        sha.update(key)
        return sha.finish().prefix % UInt64(count) == UInt64(index)
    }
}
