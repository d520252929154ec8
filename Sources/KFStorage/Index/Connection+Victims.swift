/// The queries of bulk removal. Each of its transactions touches neighbouring rows of one table: in the order of access
/// times, removing 500,000 of a million entries wrote every page of the index a hundred times.
extension Connection {
    private static let times = Query("SELECT id, accessed, expires FROM times")
    private static let victim = Query(
        "SELECT e.object, e.size, t.accessed FROM entries e JOIN times t ON t.id = e.id WHERE e.id = ?1")
    private static let accessed = Query("SELECT accessed FROM times WHERE id = ?1")
    private static let name = Query("SELECT key, identifier FROM entries WHERE id = ?1")
    private static let objectByRow = Query("SELECT refs, hash, ext, size, mtime FROM objects WHERE id = ?1")
    private static let dangling = Query(
        "SELECT 1 FROM entries WHERE id = ?1 AND object NOT IN (SELECT id FROM objects WHERE id = entries.object)")

    /// Returns the first `count` entries after `last` in the order of eviction, in one pass over all access times.
    /// `uses` are later access times, by row, that are not yet in the index.
    func evictionOrder(
        after last: EvictionRank?, count: Int, now: Timestamp, uses: [Int64: Timestamp] = [:]
    ) throws(StorageError) -> [EvictionRank] {
        var lowest = LowestRanks(limit: count)
        // An entry used while the clock was ahead would stay until that time. Such entries are evicted first, in order.
        let ahead = now.advanced(by: StorageExpiration.millisecondsPerDay).milliseconds
        try forEach(Self.times) { row in
            let accessed = max(row.int64(1), uses[row.int64(0)]?.milliseconds ?? .min)
            let rank = EvictionRank(
                isFresh: row.int64(2) > now.milliseconds, accessed: accessed > ahead ? accessed - .max : accessed,
                row: row.int64(0))
            if last.map({ rank > $0 }) ?? true { lowest.add(rank) }
        }
        return lowest.sorted()
    }

    /// Returns the victims in the order of their ranks; nil for those that no longer exist.
    func victims(_ ranks: [EvictionRank]) throws(StorageError) -> [Victim?] {
        var found = [Victim?](repeating: nil, count: ranks.count)
        // In one transaction: with one per look-up, SQLite's locks took longer than the look-ups.
        try reading { () throws(StorageError) in
            // In the order of rows, because neighbours share a page.
            for index in ranks.indices.sorted(by: { ranks[$0].row < ranks[$1].row }) {
                found[index] = try victim(row: ranks[index].row)
            }
        }
        return found
    }

    func victim(row: Int64) throws(StorageError) -> Victim? {
        try first(Self.victim, row) {
            Victim(row: row, object: $0.int64(0), size: $0.int64(1), accessed: $0.int64(2))
        }
    }

    /// Returns up to `count` entries that match `filter`, in the order of rows.
    func victims(_ filter: EntryFilter, after row: Int64, count: Int) throws(StorageError) -> [Victim] {
        var rows = AscendingRows(path, from: row.adding(saturating: 1))
        var found: [Victim] = []
        try forEach(
            matching: filter,
            """
            SELECT e.id, e.object, e.size, t.accessed FROM entries e JOIN times t ON t.id = e.id
            JOIN hosts h ON h.id = e.host \(try filter.condition(hasTags: hasTags)) ORDER BY e.id LIMIT \(count)
            """, after: row
        ) { find throws(StorageError) in
            let row = try rows.take(find.int64(0))
            found.append(Victim(row: row, object: find.int64(1), size: find.int64(2), accessed: find.int64(3)))
            return true
        }
        return found
    }

    /// Returns the reference count, size and content of an object; nil if it has no row.
    func object(row: Int64) throws(StorageError) -> (references: Int64, size: Int64, unused: UnusedObject)? {
        try first(Self.objectByRow, row) {
            ($0.int64(0), $0.int64(3), UnusedObject(row: row, object: $0.object(1)))
        }
    }

    /// Removes an entry whose object has been removed, with its times. Keeps one that was stored again and has an
    /// object.
    func removeDangling(_ victim: Victim) throws(StorageError) {
        let now = try self.victim(row: victim.row)
        let isAsFound = now?.object == victim.object && now?.accessed == victim.accessed
        guard isAsFound ? true : try isDangling(row: victim.row) else { return }
        try removeEntry(row: victim.row, releases: false)
    }

    /// Returns the access time of an entry; nil if it does not exist.
    func accessed(row: Int64) throws(StorageError) -> Int64? {
        try first(Self.accessed, row) { $0.int64(0) }
    }

    func name(row: Int64) throws(StorageError) -> EntryName? {
        try first(Self.name, row) { EntryName(key: $0.text(0), identifier: $0.text(1)) }
    }

    /// Returns whether the entry exists and its object has no row.
    func isDangling(row: Int64) throws(StorageError) -> Bool {
        try first(Self.dangling, row) { _ in true } ?? false
    }
}

/// An entry to remove, as it was found. The removal must check it again.
struct Victim: Sendable {
    let row: Int64
    /// The row in `objects`.
    let object: Int64
    /// The size of the entry in bytes.
    let size: Int64
    let accessed: Int64
}

/// The place of an entry in the order of eviction: expired entries first, then the least recently used.
struct EvictionRank: Comparable, Sendable {
    let isFresh: Bool
    let accessed: Int64
    let row: Int64

    static func < (a: EvictionRank, b: EvictionRank) -> Bool {
        if a.isFresh != b.isFresh { return b.isFresh }
        return (a.accessed, a.row) < (b.accessed, b.row)
    }
}

/// A collector of the lowest ranks, in bounded memory.
struct LowestRanks {
    private let limit: Int
    private var ranks: [EvictionRank] = []
    /// The rank from which on further ranks are ignored.
    private var bound: EvictionRank?

    init(limit: Int) { self.limit = limit }

    mutating func add(_ rank: EvictionRank) {
        if let bound, rank >= bound { return }
        ranks.append(rank)
        if ranks.count >= 2 * limit { trim() }
    }

    /// Returns the lowest ranks in ascending order.
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
