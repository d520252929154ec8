extension Connection {
    private static let addTotals = Query(
        """
        UPDATE totals SET entries = entries + ?1, variants = variants + ?2, bytes = bytes + ?3,
            objects = objects + ?4, stored = stored + ?5
        """)
    private static let addHost = Query("UPDATE hosts SET entries = entries + ?2, bytes = bytes + ?3 WHERE id = ?1")
    private static let addFormat = Query("UPDATE formats SET entries = entries + ?2, bytes = bytes + ?3 WHERE id = ?1")
    private static let addAge = Query(
        """
        INSERT INTO ages VALUES (?1, ?2, ?3)
        ON CONFLICT (hour) DO UPDATE SET entries = entries + ?2, bytes = bytes + ?3
        """)
    private static let addExpiry = Query(
        "INSERT INTO expiries VALUES (?1, ?2) ON CONFLICT (hour) DO UPDATE SET entries = entries + ?2")

    /// Adds what this transaction has changed to the sums; to be called before every commit.
    func writeTally() throws(StorageError) {
        guard tally != Tally() else { return }
        let done = tally
        tally = Tally()
        try add(Self.addTotals, done.entries, done.variants, done.bytes, done.objects, done.stored)
        for (host, share) in done.hosts { try add(Self.addHost, host, share.entries, share.bytes) }
        for (format, share) in done.formats { try add(Self.addFormat, format, share.entries, share.bytes) }
        for (hour, share) in done.ages { try add(Self.addAge, hour, share.entries, share.bytes) }
        for (hour, entries) in done.expiries { try add(Self.addExpiry, hour, entries) }
    }

    private func add(_ query: Query, _ values: Int64...) throws(StorageError) {
        let statement = try statement(query)
        for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), value) }
        try statement.run()
    }
}
