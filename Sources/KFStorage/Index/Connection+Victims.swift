/// The queries of bulk removal. Each of its transactions touches neighbouring rows of one table: in the order of access
/// times, removing 500,000 of a million entries wrote every page of the index a hundred times.
extension Connection {
    private static let times = Query("SELECT id, accessed, expires FROM times")
    private static let victim = Query(
        "SELECT e.id, e.object, e.size, t.accessed FROM entries e JOIN times t ON t.id = e.id WHERE e.id = ?1")
    private static let name = Query("SELECT key, identifier FROM entries WHERE id = ?1")
    private static let objectByRow = Query("SELECT refs, hash, ext, size, mtime FROM objects WHERE id = ?1")
    private static let dangling = Query(
        "SELECT 1 FROM entries WHERE id = ?1 AND object NOT IN (SELECT id FROM objects WHERE id = entries.object)")

    /// The number of rows that one statement takes: a statement for each row costs three times as many instructions.
    static let together = 64
    private static let rows = "(\((1...together).map { "?\($0)" }.joined(separator: ", ")))"
    private static let victims = Query(
        """
        SELECT e.id, e.object, e.size, t.accessed FROM entries e JOIN times t ON t.id = e.id
        WHERE e.id IN \(rows) ORDER BY e.id
        """)
    private static let accessTimes = Query("SELECT id, accessed FROM times WHERE id IN \(rows) ORDER BY id")
    private static let objects = Query(
        "SELECT id, refs, hash, ext, size, mtime FROM objects WHERE id IN \(rows) ORDER BY id")
    private static let entriesToRemove = Query(
        """
        SELECT e.id, e.object, t.accessed, e.parent IS NOT NULL, e.host, e.format, e.size, e.created, t.expires
        FROM entries e LEFT JOIN times t ON t.id = e.id WHERE e.id IN \(rows) ORDER BY e.id
        """)
    private static let deleteObjects = Query("DELETE FROM objects WHERE id IN \(rows)")
    private static let deleteEntries = Query("DELETE FROM entries WHERE id IN \(rows)")
    private static let deleteTimes = Query("DELETE FROM times WHERE id IN \(rows)")

    /// Calls `body` for each row of the results of a statement over `together` rows at a time.
    private func forEach(
        _ query: Query, rows: some Collection<Int64>, body: (Statement) throws(StorageError) -> Void
    ) throws(StorageError) {
        let statement = try statement(query)
        var rest = rows[...]
        while !rest.isEmpty {
            defer { statement.reset() }
            for (index, row) in rest.prefix(Self.together).enumerated() {
                row.bind(to: statement, at: Int32(clamping: index + 1))
            }
            rest = rest.dropFirst(Self.together)
            while try statement.step() { try body(statement) }
        }
    }

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
        // In the order of rows, because neighbours share a page.
        let order = ranks.indices.sorted { ranks[$0].row < ranks[$1].row }
        // In one transaction: with one per look-up, SQLite's locks took longer than the look-ups.
        try reading { () throws(StorageError) in
            var left = order[...]
            try forEach(Self.victims, rows: order.lazy.map { ranks[$0].row }) { row throws(StorageError) in
                let victim = Self.victim(row)
                left = left.drop { ranks[$0].row < victim.row }
                if let index = left.first, ranks[index].row == victim.row { found[index] = victim }
            }
        }
        return found
    }

    func victim(row: Int64) throws(StorageError) -> Victim? { try first(Self.victim, row) { Self.victim($0) } }

    private static func victim(_ row: Statement) -> Victim {
        Victim(row: row.int64(0), object: row.int64(1), size: row.int64(2), accessed: row.int64(3))
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

    /// The reference count of an object, its size by the index, and its content.
    typealias CountedObject = (references: Int64, size: Int64, unused: UnusedObject)

    /// Returns an object; nil if it has no row.
    func object(row: Int64) throws(StorageError) -> CountedObject? {
        try first(Self.objectByRow, row) {
            ($0.int64(0), $0.int64(3), UnusedObject(row: row, object: $0.object(1)))
        }
    }

    /// Returns the objects of rows in ascending order, in that order, without those that do not exist.
    func objects(rows: some Collection<Int64>) throws(StorageError) -> [CountedObject] {
        var found: [CountedObject] = []
        try forEach(Self.objects, rows: rows) { row throws(StorageError) in
            let unused = UnusedObject(row: row.int64(0), object: row.object(2))
            found.append((references: row.int64(1), size: row.int64(4), unused: unused))
        }
        return found
    }

    /// Removes the rows of objects whose files have been removed.
    func deleteObjects(_ objects: [(row: Int64, size: Int64)]) throws(StorageError) {
        guard !objects.isEmpty else { return }
        try forEach(Self.deleteObjects, rows: objects.lazy.map(\.row)) { _ throws(StorageError) in }
        for object in objects { tally.addObject(size: object.size, count: -1) }
    }

    /// Removes entries whose objects have been removed, with their times. Keeps those that were stored
    /// again and have an object. `victims` are in the order of rows.
    func removeDangling(_ victims: ArraySlice<Victim>) throws(StorageError) {
        var left = victims
        var known: [(row: Int64, isAsFound: Bool, facts: Tally.Facts, expires: Int64?)] = []
        try forEach(Self.entriesToRemove, rows: victims.lazy.map(\.row)) { row throws(StorageError) in
            let number = row.int64(0)
            left = left.drop { $0.row < number }
            let isAsFound = left.first.map { $0.object == row.int64(1) && $0.accessed == row.optionalInt64(2) } ?? false
            let facts = Tally.Facts(
                isVariant: row.int64(3) != 0, host: row.int64(4), format: row.int64(5), size: row.int64(6),
                created: row.int64(7))
            known.append((number, isAsFound, facts, row.optionalInt64(8)))
        }
        var removed: [Int64] = []
        for entry in known {
            guard entry.isAsFound ? true : try isDangling(row: entry.row) else { continue }
            tally.add(entry.facts, count: -1)
            if let expires = entry.expires { tally.addExpiry(expires, count: -1) }
            try removeTags(row: entry.row)
            removed.append(entry.row)
        }
        guard !removed.isEmpty else { return }
        try forEach(Self.deleteTimes, rows: removed) { _ throws(StorageError) in }
        try forEach(Self.deleteEntries, rows: removed) { _ throws(StorageError) in }
    }

    /// Returns the access times of entries that exist, by row.
    func accessTimes(rows: [Int64]) throws(StorageError) -> [Int64: Int64] {
        var found: [Int64: Int64] = [:]
        found.reserveCapacity(rows.count)
        try forEach(Self.accessTimes, rows: rows) { row throws(StorageError) in found[row.int64(0)] = row.int64(1) }
        return found
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
