/// What removing in bulk asks and does. A transaction of it touches neighbouring rows of one table: in the order of
/// the times of access, removing 500,000 of a million entries wrote every page of the index a hundred times over.
extension Connection {
    private static let times = Query("SELECT id, accessed, expires FROM times")
    private static let victim = Query(
        "SELECT e.object, e.size, t.accessed FROM entries e JOIN times t ON t.id = e.id WHERE e.id = ?1")
    private static let sums = Query(
        """
        SELECT e.parent IS NOT NULL, e.host, e.format, e.size, e.created, t.expires, e.object, t.accessed
        FROM entries e LEFT JOIN times t ON t.id = e.id WHERE e.id = ?1
        """)
    private static let accessed = Query("SELECT accessed FROM times WHERE id = ?1")
    // RETURNING would cost as much again as the deletion.
    private static let deleteObject = Query("DELETE FROM objects WHERE id = ?1")
    private static let deleteTime = Query("DELETE FROM times WHERE id = ?1")
    private static let deleteEntry = Query("DELETE FROM entries WHERE id = ?1")
    private static let name = Query("SELECT key, identifier FROM entries WHERE id = ?1")
    private static let objectByRow = Query("SELECT refs, hash, ext, size, mtime FROM objects WHERE id = ?1")
    private static let dangling = Query(
        "SELECT 1 FROM entries WHERE id = ?1 AND object NOT IN (SELECT id FROM objects WHERE id = entries.object)")

    /// The first `count` entries after `last` in the order of eviction. One pass over all times of access. `uses` are later
    /// ones, by row, that the index does not have.
    func evictionOrder(
        after last: EvictionRank?, count: Int, now: Timestamp, uses: [Int64: Timestamp] = [:]
    ) throws(StorageError) -> [EvictionRank] {
        let row = try statement(Self.times)
        defer { row.reset() }
        var lowest = LowestRanks(limit: count)
        // What was used while the clock was ahead would stay until then: it goes before the rest, in its own order.
        let ahead = now.advanced(by: StorageExpiration.millisecondsPerDay).milliseconds
        while try row.step() {
            let accessed = max(row.int64(1), uses[row.int64(0)]?.milliseconds ?? .min)
            let rank = EvictionRank(
                isFresh: row.int64(2) > now.milliseconds, accessed: accessed > ahead ? accessed - .max : accessed,
                row: row.int64(0))
            if let last, rank <= last { continue }
            lowest.add(rank)
        }
        return lowest.sorted()
    }

    /// What is to be known of these entries, in their order; nil are those that are gone.
    func victims(_ ranks: [EvictionRank]) throws(StorageError) -> [Victim?] {
        var found = [Victim?](repeating: nil, count: ranks.count)
        // As a transaction each, taking and giving back SQLite's locks took longer than looking.
        try reading { () throws(StorageError) in
            // In the order of the rows: neighbours lie on one page.
            for index in ranks.indices.sorted(by: { ranks[$0].row < ranks[$1].row }) {
                found[index] = try victim(row: ranks[index].row)
            }
        }
        return found
    }

    func victim(row: Int64) throws(StorageError) -> Victim? {
        let find = try statement(Self.victim)
        defer { find.reset() }
        find.bind(1, row)
        guard try find.step() else { return nil }
        return Victim(row: row, object: find.int64(0), size: find.int64(1), accessed: find.int64(2))
    }

    /// Whatever `filter` selects, in the order of the rows, `count` at most.
    func victims(_ filter: EntryFilter, after row: Int64, count: Int) throws(StorageError) -> [Victim] {
        let find = try temporaryStatement(
            """
            SELECT e.id, e.object, e.size, t.accessed FROM entries e JOIN times t ON t.id = e.id
            JOIN hosts h ON h.id = e.host \(filter.condition) ORDER BY e.id LIMIT \(count)
            """)
        defer { find.finalize() }
        filter.bind(find, after: row)
        var rows = AscendingRows(path)
        var found: [Victim] = []
        while try find.step() {
            found.append(
                Victim(
                    row: try rows.take(find.int64(0)), object: find.int64(1), size: find.int64(2),
                    accessed: find.int64(3)))
        }
        return found
    }

    /// How many entries use an object, and what it is.
    func object(row: Int64) throws(StorageError) -> (references: Int64, size: Int64, unused: UnusedObject)? {
        let find = try statement(Self.objectByRow)
        defer { find.reset() }
        find.bind(1, row)
        guard try find.step() else { return nil }
        return (find.int64(0), find.int64(3), UnusedObject(row: row, object: find.object(1)))
    }

    /// Removes an object of this size, whose file is gone.
    func deleteObject(row: Int64, size: Int64) throws(StorageError) {
        try run(Self.deleteObject) { $0.bind(1, row) }
        tally.addObject(size: size, count: -1)
    }

    /// Removes an entry whose object is gone, with its times, but not one that was stored anew and has an object again.
    func removeDangling(_ victim: Victim) throws(StorageError) {
        let find = try statement(Self.sums)
        defer { find.reset() }
        find.bind(1, victim.row)
        guard try find.step() else { return }
        let isAsFound = find.int64(6) == victim.object && find.int64(7) == victim.accessed
        if !isAsFound, try !isDangling(row: victim.row) { return }
        tally.add(
            Tally.Facts(
                isVariant: find.int64(0) != 0, host: find.int64(1), format: find.int64(2), size: find.int64(3),
                created: find.int64(4)), count: -1)
        if let expires = find.optionalInt64(5) {
            tally.addExpiry(expires, count: -1)
            try run(Self.deleteTime) { $0.bind(1, victim.row) }
        }
        try run(Self.deleteEntry) { $0.bind(1, victim.row) }
    }

    /// When an entry was used last; nil when it is gone.
    func accessed(row: Int64) throws(StorageError) -> Int64? {
        let find = try statement(Self.accessed)
        defer { find.reset() }
        find.bind(1, row)
        return try find.step() ? find.int64(0) : nil
    }

    /// What an entry is called; nil when it is not there.
    func name(row: Int64) throws(StorageError) -> EntryName? {
        let find = try statement(Self.name)
        defer { find.reset() }
        find.bind(1, row)
        return try find.step() ? EntryName(key: find.text(0), identifier: find.text(1)) : nil
    }

    /// Whether there is an entry whose object has no row.
    func isDangling(row: Int64) throws(StorageError) -> Bool {
        let find = try statement(Self.dangling)
        defer { find.reset() }
        find.bind(1, row)
        return try find.step()
    }
}

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
