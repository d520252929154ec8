import KFSystem

/// The difference between a sum that the index keeps and the counted value.
struct CountDifference: Sendable {
    /// The statement that adds the values.
    fileprivate let correction: Query
    /// Its row; nil for the totals.
    fileprivate let row: Int64?
    /// The name of the sum for users: `host example.com`.
    let label: String
    /// The values to add, in the order of the table's columns.
    let corrections: [Int64]
}

/// Recounting of all sums.
///
/// Errors are returned as differences. Adding a difference is correct whatever was stored or removed meanwhile, so no
/// lock is held while a million rows are counted. Another program may have written any value into a column, so sums use
/// total(), which does not fail beyond 64 bits.
extension Connection {
    private static let totals = Query(
        """
        SELECT e.n - \(sound("t.entries")), e.v - \(sound("t.variants")), e.b - \(sound("t.bytes")),
            o.n - \(sound("t.objects")), o.b - \(sound("t.stored")),
            \(anyOdd("t.entries", "t.variants", "t.bytes", "t.objects", "t.stored"))
        FROM (SELECT count(*) AS n, count(parent) AS v, CAST(total(size) AS INTEGER) AS b FROM entries) e
        CROSS JOIN (SELECT count(*) AS n, CAST(total(size) AS INTEGER) AS b FROM objects) o
        LEFT JOIN totals t ON t.id = 0
        """)
    private static let hosts = shares("hosts", "host")
    private static let formats = shares("formats", "format")
    private static let ages = Query(
        """
        SELECT hour, '', CAST(total(n) AS INTEGER), CAST(total(b) AS INTEGER) FROM (
            SELECT created / 3600000 AS hour, count(*) AS n, total(size) AS b, 0 AS odd FROM entries GROUP BY 1
            UNION ALL
            SELECT hour, -\(sound("entries")), -\(sound("bytes")), \(anyOdd("entries", "bytes")) FROM ages)
        GROUP BY hour HAVING total(n) <> 0 OR total(b) <> 0 OR total(odd) <> 0
        """)
    private static let expiries = Query(
        """
        SELECT hour, '', CAST(total(n) AS INTEGER) FROM (
            SELECT expires / 3600000 AS hour, count(*) AS n, 0 AS odd FROM times GROUP BY 1
            UNION ALL SELECT hour, -\(sound("entries")), \(anyOdd("entries")) FROM expiries)
        GROUP BY hour HAVING total(n) <> 0 OR total(odd) <> 0
        """)
    private static let correctTotals = Query(
        """
        INSERT INTO totals VALUES (0, ?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET
            entries = \(sound("entries")) + ?1, variants = \(sound("variants")) + ?2, bytes = \(sound("bytes")) + ?3,
            objects = \(sound("objects")) + ?4, stored = \(sound("stored")) + ?5
        """)
    static let addHost = addShare("hosts")
    static let addFormat = addShare("formats")
    static let addAge = Query(
        """
        INSERT INTO ages VALUES (?3, ?1, ?2)
        ON CONFLICT (hour) DO UPDATE SET entries = \(sound("entries")) + ?1, bytes = \(sound("bytes")) + ?2
        """)
    static let addExpiry = Query(
        "INSERT INTO expiries VALUES (?2, ?1) ON CONFLICT (hour) DO UPDATE SET entries = \(sound("entries")) + ?1")

    /// Returns the SQL for a kept sum, with 0 in place of a value that is not a valid count, such as a text.
    private static func sound(_ column: String) -> String { "iif(\(isSound(column)), \(column), 0)" }

    private static func anyOdd(_ columns: String...) -> String {
        "NOT (" + columns.map(isSound).joined(separator: " AND ") + ")"
    }

    private static func isSound(_ column: String) -> String {
        "(typeof(\(column)) = 'integer' AND \(column) BETWEEN -\(Statement.mostCounted) AND \(Statement.mostCounted))"
    }

    private static func shares(_ table: String, _ column: String) -> Query {
        let entries = "coalesce(c.n, 0) - \(sound("s.entries"))"
        let bytes = "coalesce(c.b, 0) - \(sound("s.bytes"))"
        return Query(
            """
            SELECT s.id, s.name, \(entries), \(bytes) FROM \(table) s LEFT JOIN (
                SELECT \(column) AS id, count(*) AS n, CAST(total(size) AS INTEGER) AS b FROM entries GROUP BY \(column)
            ) c ON c.id = s.id
            WHERE \(entries) <> 0 OR \(bytes) <> 0 OR \(anyOdd("s.entries", "s.bytes"))
            """)
    }

    private static func addShare(_ table: String) -> Query {
        Query(
            """
            UPDATE \(table) SET entries = \(sound("entries")) + ?1, bytes = \(sound("bytes")) + ?2 WHERE id = ?3
            """)
    }

    func countDifferences() throws(StorageError) -> [CountDifference] {
        try reading { () throws(StorageError) in
            try all(Self.totals) { sums in
                let corrections = (0..<5).map { sums.int64($0) }
                guard corrections.contains(where: { $0 != 0 }) || sums.int64(5) != 0 else { return nil }
                return CountDifference(
                    correction: Self.correctTotals, row: nil, label: "totals", corrections: corrections)
            } + differences(Self.hosts, Self.addHost, columns: 2) { "host \($1)" }
                + differences(Self.formats, Self.addFormat, columns: 2) { "format \($1)" }
                + differences(Self.ages, Self.addAge, columns: 2) { hour, _ in "ages, hour \(hour)" }
                + differences(Self.expiries, Self.addExpiry, columns: 1) { hour, _ in "expiries, hour \(hour)" }
        }
    }

    func apply(_ difference: CountDifference) throws(StorageError) {
        let update = try statement(difference.correction)
        for (index, value) in (difference.corrections + (difference.row.map { [$0] } ?? [])).enumerated() {
            value.bind(to: update, at: Int32(clamping: index + 1))
        }
        try update.run()
    }

    private func differences(
        _ query: Query, _ correction: Query, columns: Int32, _ label: (Int64, String) -> String
    ) throws(StorageError) -> [CountDifference] {
        try all(query) { row in
            CountDifference(
                correction: correction, row: row.int64(0), label: label(row.int64(0), row.text(1)),
                corrections: (2..<2 + columns).map { row.int64($0) })
        }
    }
}

extension Connection {
    private static let hourlyAges = ages("hour * \(Tally.hour) + \(Tally.hour / 2)", "entries", "bytes", of: "ages")
    private static let exactAges = ages("created", "1", "size", of: "entries")
    private static let allocated = Query("SELECT CAST(total((size + ?1 - 1) / ?1 * ?1) AS INTEGER) FROM objects")

    private static func ages(_ time: String, _ entries: String, _ bytes: String, of table: String) -> Query {
        Query(
            """
            SELECT \(AgeStep.sql(time, now: "?1")), CAST(total(\(entries)) AS INTEGER), CAST(total(\(bytes)) AS INTEGER)
            FROM \(table) GROUP BY 1
            """)
    }

    /// Returns the entries by age. Not `exactly`, the sums of each hour count as of its middle.
    func ages(at now: Timestamp, exactly: Bool) throws(StorageError) -> [CacheShare] {
        var sums: [Int64: FilteredSums.Sum] = [:]
        try forEach(exactly ? Self.exactAges : Self.hourlyAges, now.milliseconds) {
            sums[$0.int64(0)] = (Int($0.count(1)), $0.count(2))
        }
        return AgeStep.shares(sums)
    }

    /// Returns the bytes of all objects, each rounded up to whole blocks.
    func allocatedSize(block: Int64) throws(StorageError) -> Int64 {
        try first(Self.allocated, block) { $0.count(0) } ?? 0
    }
}
