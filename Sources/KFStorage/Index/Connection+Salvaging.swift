/// An entry that could be read from a damaged index, with its labels.
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

    /// The sound entries between two rows, up to the first that SQLite cannot read.
    func wholeEntries(from first: Int64, through last: Int64) throws(StorageError) -> [SalvagedEntry] {
        var found: [SalvagedEntry] = []
        do throws(StorageError) {
            let row = try statement(Self.wholeEntries)
            defer { row.reset() }
            row.bind(1, first)
            row.bind(2, last)
            var rows = AscendingRows(path)
            while try row.step() {
                let place = try rows.take(row.int64(0))
                guard let entry = Self.entry(row, key: nil), entry.key.places.contains(place) else { continue }
                found.append(SalvagedEntry(entry: entry, host: row.text(21), format: row.text(22)))
            }
        } catch .corruptIndex {
            // What lies behind it, up to `last`, is lost.
        }
        return found
    }
}
