/// An entry that is to be removed, as it was found: whoever removes it looks again.
struct Victim: Sendable {
    let row: Int64
    /// Of `objects`.
    let object: Int64
    /// Of the entry, in bytes.
    let size: Int64
    let accessed: Int64
}

/// The place of an entry in the order of eviction: the expired first, then what was used longest ago.
struct EvictionRank: Comparable, Sendable {
    let isFresh: Bool
    let accessed: Int64
    let row: Int64

    static func < (a: EvictionRank, b: EvictionRank) -> Bool {
        if a.isFresh != b.isFresh { return b.isFresh }
        return (a.accessed, a.row) < (b.accessed, b.row)
    }
}

/// The lowest of many ranks, in bounded memory.
struct LowestRanks {
    private let limit: Int
    private var ranks: [EvictionRank] = []
    /// What is not lower than this is not among them.
    private var bound: EvictionRank?

    init(limit: Int) { self.limit = limit }

    mutating func add(_ rank: EvictionRank) {
        if let bound, rank >= bound { return }
        ranks.append(rank)
        if ranks.count >= 2 * limit { trim() }
    }

    /// In their order.
    mutating func sorted() -> [EvictionRank] {
        trim()
        return ranks
    }

    private mutating func trim() {
        ranks.sort()
        guard ranks.count > limit else { return }
        ranks.removeLast(ranks.count - limit)
        bound = ranks.last
    }
}
