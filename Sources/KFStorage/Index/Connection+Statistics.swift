extension Connection {
    private static let ages = Query("SELECT hour, entries, bytes FROM ages WHERE entries > 0")
    private static let allocated = Query("SELECT CAST(total((size + ?1 - 1) / ?1 * ?1) AS INTEGER) FROM objects")

    /// Entries by the hour in which they were stored.
    func ages() throws(StorageError) -> [(hour: Int64, entries: Int, bytes: Int64)] {
        let row = try statement(Self.ages)
        defer { row.reset() }
        var found: [(hour: Int64, entries: Int, bytes: Int64)] = []
        while try row.step() { found.append((row.int64(0), Int(row.count(1)), row.count(2))) }
        return found
    }

    /// Bytes of all objects when each takes whole blocks.
    func allocatedSize(block: Int64) throws(StorageError) -> Int64 {
        let row = try statement(Self.allocated)
        defer { row.reset() }
        row.bind(1, block)
        return try row.step() ? row.count(0) : 0
    }
}
