struct ObjectRow: Sendable, Equatable {
    let row: Int64
    let object: StoredObject

    /// Whether a lookup of the object would find the row.
    var isInPlace: Bool {
        let first = EntryKey.place(object.digest)
        return (first..<first + EntryKey.probes).contains(row)
    }
}

/// The findings of a query in one page of rows.
struct RowPage<Item: Sendable>: Sendable {
    let found: [Item]
    /// The number of rows in the page.
    let seen: Int
    /// The first row of the next page; nil if there is none.
    let next: Int64?
}

/// The queries of a verification. Each uses one snapshot and takes no lock of the cache's own.
extension Connection {
    /// An entry whose row contradicts the rest of the index.
    typealias BrokenEntry = (row: Int64, key: EntryKey, kind: CacheFinding.Kind, detail: String)
    /// A row of `objects` whose reference count is wrong.
    typealias WrongReferences = (row: ObjectRow, stored: Int64, counted: Int64)

    private static let wholeCheck = Query("PRAGMA integrity_check(100)")
    // Without the plus signs SQLite builds a temporary index over all keys for every page.
    private static let entriesAfter = Query(
        """
        SELECT e.id, e.key, e.identifier, e.parent, e.size, o.size, t.id, h.id, f.id,
            e.original IS NOT NULL AND po.hash IS NOT NULL AND po.hash <> e.original
                AND e.identifier NOT GLOB '\(EntryKey.representationMark)*',
            typeof(e.size) || typeof(e.created) || typeof(t.accessed) || typeof(t.expires) || typeof(t.hits)
        FROM entries e LEFT JOIN objects o ON o.id = e.object LEFT JOIN times t ON t.id = e.id
        LEFT JOIN hosts h ON h.id = e.host LEFT JOIN formats f ON f.id = e.format
        LEFT JOIN entries p ON p.id BETWEEN e.parent AND e.parent + 3 AND +p.key = e.key AND +p.identifier = ''
        LEFT JOIN objects po ON po.id = p.object
        WHERE e.id >= ?1 ORDER BY e.id LIMIT ?2
        """)
    private static let strayTimes = Query(
        "SELECT id FROM times WHERE id NOT IN (SELECT id FROM entries) AND id >= ?1 ORDER BY id LIMIT ?2")
    private static let wrongReferences = Query(
        """
        SELECT o.id, o.hash, o.ext, o.size, o.mtime, o.refs, coalesce(c.n, 0) FROM objects o
        LEFT JOIN (SELECT object, count(*) AS n FROM entries GROUP BY object) c ON c.object = o.id
        WHERE o.id >= ?1 AND o.refs <> coalesce(c.n, 0) ORDER BY o.id LIMIT ?2
        """)
    // A row that was removed and made again since the check has another time.
    private static let correctReferences = Query(
        "UPDATE objects SET refs = ?4 WHERE id = ?1 AND refs = ?2 AND mtime = ?3 RETURNING id")
    // The same conditions as in `Statement.object`.
    private static let unusableObjects = Query(
        """
        SELECT id FROM objects WHERE id >= ?1 AND NOT (typeof(hash) = 'blob' AND length(hash) = 32
            AND typeof(ext) = 'text' AND length(CAST(ext AS BLOB)) BETWEEN 1 AND 8 AND ext NOT GLOB '*[^a-z0-9]*'
            AND instr(ext, char(0)) = 0 AND typeof(size) = 'integer'
            AND size BETWEEN \(StoredObject.sizes.lowerBound) AND \(StoredObject.sizes.upperBound)
            AND typeof(mtime) = 'integer' AND typeof(refs) = 'integer') ORDER BY id LIMIT ?2
        """)
    private static let objectsBetween = Query(
        "SELECT id, hash, ext, size, mtime FROM objects WHERE id BETWEEN ?1 AND ?2 ORDER BY id")
    private static let entryObjects = Query("SELECT object, id, key, identifier FROM entries")

    /// Returns the errors that SQLite's integrity check reports; empty if there are none.
    func complaints() throws(StorageError) -> [String] {
        let lines = try all(Self.wholeCheck) { $0.text(0) }
        return lines == ["ok"] ? [] : lines
    }

    /// Checks up to `count` entries from row `first` on, in ascending order. Returns the broken ones.
    func brokenEntries(from first: Int64, count: Int) throws(StorageError) -> RowPage<BrokenEntry> {
        try page(Self.entriesAfter, from: first, count: count) { row, place in
            let key = EntryKey(key: row.text(1), identifier: row.text(2))
            return Self.fault(row, key).map { (place, key, $0, $1) }
        }
    }

    /// The expected types of the five numeric columns.
    private static let integers = String(repeating: "integer", count: 5)

    private static func fault(_ row: Statement, _ key: EntryKey) -> (CacheFinding.Kind, String)? {
        let place = row.int64(0)
        let parent = row.optionalInt64(3)
        if !key.places.contains(place) { return (.brokenRow, "is in a row where no lookup finds it") }
        if parent != (key.identifier.isEmpty ? nil : key.source.id) {
            return (.brokenRow, "points to another original")
        }
        guard let size = row.optionalInt64(5) else { return (.brokenRow, "has no object") }
        if !StoredObject.sizes.contains(size) { return (.brokenRow, "has an impossible size") }
        if size != row.int64(4) { return (.brokenRow, "differs in size from its object") }
        if row.optionalInt64(6) == nil { return (.brokenRow, "has no times") }
        if row.text(10) != integers { return (.brokenRow, "has a size, time or count that is not a number") }
        if row.optionalInt64(7) == nil { return (.brokenRow, "has no host") }
        if row.optionalInt64(8) == nil { return (.brokenRow, "has no format") }
        return row.int64(9) == 0 ? nil : (.staleVariant, "was made from an original that has been replaced")
    }

    /// Checks the entry of one row; nil if it is sound or does not exist.
    func brokenEntry(row: Int64) throws(StorageError) -> BrokenEntry? {
        try brokenEntries(from: row, count: 1).found.first { $0.row == row }
    }

    func timesWithoutEntries(from first: Int64, count: Int) throws(StorageError) -> RowPage<Int64> {
        try page(Self.strayTimes, from: first, count: count) { $1 }
    }

    func wrongReferences(from first: Int64, count: Int) throws(StorageError) -> RowPage<WrongReferences> {
        try page(Self.wrongReferences, from: first, count: count) { row, _ in
            Self.objectRow(row).map { ($0, row.int64(5), row.int64(6)) }
        }
    }

    /// Corrects a reference count. Returns false if the row has changed since it was counted.
    func correct(_ wrong: WrongReferences) throws(StorageError) -> Bool {
        let (row, object) = (wrong.row.row, wrong.row.object)
        return try first(Self.correctReferences, row, wrong.stored, object.modified, wrong.counted) { _ in true }
            ?? false
    }

    /// Returns up to `count` rows of objects that kf cannot have written and that name no file.
    func unusableObjects(from first: Int64, count: Int) throws(StorageError) -> RowPage<Int64> {
        try page(Self.unusableObjects, from: first, count: count) { $1 }
    }

    /// Returns what `read` finds in up to `count` rows of a query, from row `first` on.
    private func page<Item: Sendable>(
        _ query: Query, from first: Int64, count: Int, _ read: (Statement, Int64) -> Item?
    ) throws(StorageError) -> RowPage<Item> {
        var rows = AscendingRows(path, from: first)
        let found = try all(query, first, Int64(count)) { row throws(StorageError) in
            read(row, try rows.take(row.int64(0)))
        }
        return RowPage(found: found, seen: rows.count, next: rows.next(limit: count))
    }

    /// Returns the usable objects in the order of their rows, which is also the order of their folders.
    func objects(in range: ClosedRange<Int64>) throws(StorageError) -> [ObjectRow] {
        var rows = AscendingRows(path, from: range.lowerBound)
        return try all(Self.objectsBetween, range.lowerBound, range.upperBound) { row throws(StorageError) in
            _ = try rows.take(row.int64(0))
            return Self.objectRow(row)
        }
    }

    func objectRow(_ row: Int64) throws(StorageError) -> ObjectRow? { try objects(in: row...row).first }

    /// Returns the entries of each of these objects. Scans the table: an index for this rare query is not worth its
    /// cost.
    func entries(ofObjects rows: Set<Int64>) throws(StorageError) -> [Int64: [(row: Int64, key: EntryKey)]] {
        if rows.isEmpty { return [:] }
        var found: [Int64: [(row: Int64, key: EntryKey)]] = [:]
        try forEach(Self.entryObjects) { row in
            guard rows.contains(row.int64(0)) else { return }
            let key = EntryKey(key: row.text(2), identifier: row.text(3))
            found[row.int64(0), default: []].append((row.int64(1), key))
        }
        return found
    }

    private static func objectRow(_ row: Statement) -> ObjectRow? {
        row.object(1).map { ObjectRow(row: row.int64(0), object: $0) }
    }
}

/// An entry read from a damaged index, with its labels.
struct SalvagedEntry {
    let entry: Entry
    let host: String
    let format: String
}

extension Connection {
    private static let wholeEntries = Query(
        """
        SELECT \(columns), h.name, f.name
        FROM entries e CROSS JOIN times t ON t.id = e.id CROSS JOIN objects o ON o.id = e.object
        CROSS JOIN hosts h ON h.id = e.host CROSS JOIN formats f ON f.id = e.format
        WHERE e.id BETWEEN ?1 AND ?2 AND e.size = o.size AND typeof(e.created) = 'integer'
            AND typeof(e.ttl) IN ('integer', 'null') AND typeof(e.extending) IN ('integer', 'null')
            AND typeof(t.accessed) = 'integer' AND typeof(t.expires) = 'integer' AND typeof(t.hits) = 'integer'
            AND typeof(o.mtime) = 'integer' AND typeof(h.name) = 'text' AND typeof(f.name) = 'text'
        """)

    /// Returns the row numbers in so many equal parts. The numbers are hashes, so that rows are spread evenly.
    static func parts(_ count: Int) -> [ClosedRange<Int64>] {
        let span = UInt64.max / UInt64(count)
        return (0..<count).map { part in
            let first = Int64.min &+ Int64(bitPattern: UInt64(part) &* span)
            return first...(part == count - 1 ? .max : first &+ Int64(bitPattern: span &- 1))
        }
    }

    /// Returns the sound entries of these rows, up to the first that SQLite cannot read.
    func wholeEntries(_ part: ClosedRange<Int64>) throws(StorageError) -> [SalvagedEntry] {
        var found: [SalvagedEntry] = []
        var rows = AscendingRows(path, from: part.lowerBound)
        do throws(StorageError) {
            try forEach(Self.wholeEntries, part.lowerBound, part.upperBound) { row throws(StorageError) in
                let place = try rows.take(row.int64(0))
                guard let entry = Self.entry(row), entry.key.places.contains(place) else { return }
                found.append(SalvagedEntry(entry: entry, host: row.text(21), format: row.text(22)))
            }
        } catch .corruptIndex {
            // The entries from there up to the end of the part are lost.
        }
        return found
    }
}

/// The limit on the representations of a source.
extension Connection {
    /// The greatest number of representations besides the one under the key alone. A limit is needed because a server
    /// may name any header in Vary, and a program may send any value.
    static let representationLimit = 16

    /// Evicts the least recently used representations above the limit, with everything made from them. Returns the
    /// objects without references.
    func trimRepresentations(of key: EntryKey) throws(StorageError) -> [UnusedObject] {
        guard key.representation != nil else { return [] }
        var used: [String: Timestamp] = [:]
        let entries = try variants(of: key)
        for entry in entries {
            guard let representation = entry.key.representation else { continue }
            used[representation] = max(used[representation] ?? entry.accessed, entry.accessed)
        }
        guard used.count > Self.representationLimit else { return [] }
        used[key.representation ?? ""] = nil
        let oldest = used.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
            .prefix(used.count + 1 - Self.representationLimit).map(\.key)
        var unused: [UnusedObject] = []
        for entry in entries where entry.key.representation.map(oldest.contains) == true {
            unused += try removeEntry(row: entry.row).unused
        }
        return unused
    }
}
