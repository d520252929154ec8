/// By how much a figure that the index keeps differs from what is counted.
struct CountDifference: Sendable {
    enum Place: Sendable, Equatable {
        case totals
        case host(Int64)
        case format(Int64)
        case age(hour: Int64)
        case expiry(hour: Int64)
    }

    let place: Place
    /// For a person: `host example.com`.
    let label: String
    /// What has to be added; in the order of the table's columns.
    let corrections: [Int64]
}

/// Counting everything again. What is wrong comes back as a difference: adding it is right whatever was stored or
/// removed meanwhile, so that no lock is held while a million rows are counted. Columns may hold anything that another
/// program has put there; sums are taken with total(), which does not fail when they leave 64 bits.
extension Connection {
    private static let totals = Query(
        """
        SELECT e.n - t.entries, e.v - t.variants, e.b - t.bytes, o.n - t.objects, o.b - t.stored FROM totals t,
            (SELECT count(*) AS n, count(parent) AS v, CAST(total(size) AS INTEGER) AS b FROM entries) e,
            (SELECT count(*) AS n, CAST(total(size) AS INTEGER) AS b FROM objects) o
        WHERE t.id = 0
        """)
    private static let hosts = Query(
        """
        SELECT h.id, h.name, coalesce(c.n, 0) - h.entries, coalesce(c.b, 0) - h.bytes FROM hosts h
        LEFT JOIN (SELECT host AS id, count(*) AS n, CAST(total(size) AS INTEGER) AS b FROM entries GROUP BY host) c ON c.id = h.id
        WHERE h.entries <> coalesce(c.n, 0) OR h.bytes <> coalesce(c.b, 0)
        """)
    private static let formats = Query(
        """
        SELECT f.id, f.name, coalesce(c.n, 0) - f.entries, coalesce(c.b, 0) - f.bytes FROM formats f
        LEFT JOIN (SELECT format AS id, count(*) AS n, CAST(total(size) AS INTEGER) AS b FROM entries GROUP BY format) c ON c.id = f.id
        WHERE f.entries <> coalesce(c.n, 0) OR f.bytes <> coalesce(c.b, 0)
        """)
    private static let ages = Query(
        """
        SELECT hour, '', CAST(total(n) AS INTEGER), CAST(total(b) AS INTEGER) FROM (
            SELECT created / 3600000 AS hour, count(*) AS n, total(size) AS b FROM entries GROUP BY 1
            UNION ALL SELECT hour, -entries, -bytes FROM ages)
        GROUP BY hour HAVING total(n) <> 0 OR total(b) <> 0
        """)
    private static let expiries = Query(
        """
        SELECT hour, '', CAST(total(n) AS INTEGER) FROM (
            SELECT expires / 3600000 AS hour, count(*) AS n FROM times GROUP BY 1
            UNION ALL SELECT hour, -entries FROM expiries)
        GROUP BY hour HAVING total(n) <> 0
        """)
    private static let addTotals = Query(
        """
        UPDATE totals SET entries = CAST(entries AS INTEGER) + ?1, variants = CAST(variants AS INTEGER) + ?2,
            bytes = CAST(bytes AS INTEGER) + ?3, objects = CAST(objects AS INTEGER) + ?4,
            stored = CAST(stored AS INTEGER) + ?5
        """)
    private static let addHost = Query(
        """
        UPDATE hosts SET entries = CAST(entries AS INTEGER) + ?1, bytes = CAST(bytes AS INTEGER) + ?2 WHERE id = ?3
        """)
    private static let addFormat = Query(
        """
        UPDATE formats SET entries = CAST(entries AS INTEGER) + ?1, bytes = CAST(bytes AS INTEGER) + ?2 WHERE id = ?3
        """)
    private static let addAge = Query(
        """
        INSERT INTO ages VALUES (?3, ?1, ?2)
        ON CONFLICT (hour) DO UPDATE SET entries = CAST(entries AS INTEGER) + ?1, bytes = CAST(bytes AS INTEGER) + ?2
        """)
    private static let addExpiry = Query(
        """
        INSERT INTO expiries VALUES (?2, ?1)
        ON CONFLICT (hour) DO UPDATE SET entries = CAST(entries AS INTEGER) + ?1
        """)

    /// All of them from one snapshot.
    func countDifferences() throws(StorageError) -> [CountDifference] {
        try execute("BEGIN")
        defer { _ = Result { () throws(StorageError) in try execute("COMMIT") } }
        let sums = try statement(Self.totals)
        defer { sums.reset() }
        var found: [CountDifference] = []
        if try sums.step() {
            let corrections = (0..<5).map { sums.int64($0) }
            if corrections.contains(where: { $0 != 0 }) {
                found.append(CountDifference(place: .totals, label: "totals", corrections: corrections))
            }
        }
        found += try differences(Self.hosts, columns: 2) { (.host($0), "host \($1)") }
        found += try differences(Self.formats, columns: 2) { (.format($0), "format \($1)") }
        found += try differences(Self.ages, columns: 2) { hour, _ in (.age(hour: hour), "ages, hour \(hour)") }
        found += try differences(Self.expiries, columns: 1) { hour, _ in (.expiry(hour: hour), "expiries, hour \(hour)")
        }
        return found
    }

    func apply(_ difference: CountDifference) throws(StorageError) {
        let (query, row): (Query, Int64?) =
            switch difference.place {
            case .totals: (Self.addTotals, nil)
            case .host(let row): (Self.addHost, row)
            case .format(let row): (Self.addFormat, row)
            case .age(let hour): (Self.addAge, hour)
            case .expiry(let hour): (Self.addExpiry, hour)
            }
        let update = try statement(query)
        for (index, value) in (difference.corrections + (row.map { [$0] } ?? [])).enumerated() {
            update.bind(Int32(index + 1), value)
        }
        try update.run()
    }

    private func differences(
        _ query: Query, columns: Int32, _ name: (Int64, String) -> (CountDifference.Place, String)
    ) throws(StorageError) -> [CountDifference] {
        let row = try statement(query)
        defer { row.reset() }
        var found: [CountDifference] = []
        while try row.step() {
            let (place, label) = name(row.int64(0), row.text(1))
            found.append(
                CountDifference(place: place, label: label, corrections: (2..<2 + columns).map { row.int64($0) }))
        }
        return found
    }
}
