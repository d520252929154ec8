import KFSystem

/// The names of shards and samples, which follow from the positions of items.
public struct ShardNames: Sendable, Equatable {
    /// The number of items per shard.
    public let size: Int
    /// The part of the lists that a run fetches; nil for all of them.
    public let part: ListShard?

    /// Creates the names of shards of `size` items, at least 1.
    public init(size: Int = 10_000, part: ListShard? = nil) {
        self.size = max(1, size)
        self.part = part
    }

    /// The place of an item in its data set.
    public struct Sample: Sendable, Equatable {
        /// The name of the shard's files without their extensions: `00000`, of the fourth of 16 parts `03-of-16-00000`.
        public let shard: String
        /// The key: the name of the shard and the item's index in it, `000000012`.
        public let key: String
    }

    /// Returns the place of the item with a position from 1.
    public func sample(at position: Int) -> Sample {
        let (shard, index) = place(of: position)
        let name = name(of: shard)
        return Sample(shard: name, key: name + index.digits(String(size - 1).utf8.count))
    }

    /// The shard of a position and the index in it, both from 0.
    package func place(of position: Int) -> (shard: Int, index: Int) {
        ((position - 1) / size, (position - 1) % size)
    }

    package func name(of shard: Int) -> String { prefix + shard.digits(5) }

    /// The number of the shard with a name; nil if no shard of this part has it.
    func shard(named name: Substring) -> Int? {
        guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)), number >= 0,
            self.name(of: number) == name
        else { return nil }
        return number
    }

    /// The number of the shard that a file belongs to, under its name or hidden until it is whole; nil if it belongs to no
    /// shard of this part.
    package func shard(ofFile name: String) -> Int? {
        let name = name.hasPrefix(".") ? name.dropFirst() : name[...]
        let end = [".tar", ".jsonl", Self.statistics].first { name.hasSuffix($0) }
        return end.flatMap { shard(named: name.dropLast($0.utf8.count)) }
    }

    /// The end of the name of a shard's statistics, as img2dataset names them.
    package static let statistics = "_stats.json"

    private var prefix: String { part.map { Self.text($0) + "-" } ?? "" }

    /// The name of the hidden file that records the shards of this part.
    package var manifest: String { Self.manifest + (part.map { "-" + Self.text($0) } ?? "") }

    private static let manifest = ".kf-shards"

    /// Returns whether a file is the manifest of shards that do not belong beside these: of the whole list, or of
    /// another number of parts.
    package func isForeign(manifest name: String) -> Bool {
        guard name.hasPrefix(Self.manifest), name != manifest else { return false }
        guard let part else { return true }
        return !name.hasSuffix("-of-\(part.count)")
    }

    /// Returns whether a file is the manifest of another part beside this one.
    package func isOfOtherPart(manifest name: String) -> Bool {
        name.hasPrefix(Self.manifest) && name != manifest && !isForeign(manifest: name)
    }

    /// `03-of-16`.
    private static func text(_ part: ListShard) -> String {
        "\(part.index.digits(String(part.count - 1).utf8.count))-of-\(part.count)"
    }
}
