extension Connection {
    private static let entryCount = Query("SELECT entries FROM totals")
    private static let entryByRow = entryQuery("WHERE e.id = ?1")

    func count() throws(StorageError) -> Int { Int(try integer(Self.entryCount)) }

    /// The first of the rows between `first` and `last`, in order.
    func ranking(_ query: EntryQuery, after first: Int64, through last: Int64) throws(StorageError) -> [RankedRow] {
        var found: [RankedRow] = []
        try eachRank(query, after: first, through: last) { found.append($0) }
        return found
    }

    /// All that the query means, each looked up when its turn comes: SQLite sorts the ranks alone, in bounded memory.
    /// One snapshot. `body` says whether to go on.
    func eachEntry(_ query: EntryQuery, _ body: (Entry) -> Bool) throws(StorageError) {
        try execute("BEGIN")
        defer { _ = Result { () throws(StorageError) in try execute("COMMIT") } }
        let ranks = try rankingStatement(query, after: .min, through: .max)
        defer { ranks.finalize() }
        while try ranks.step() {
            if let entry = try entry(row: ranks.int64(2)), !body(entry) { return }
        }
    }

    func entry(row: Int64) throws(StorageError) -> Entry? {
        let statement = try statement(Self.entryByRow)
        defer { statement.reset() }
        statement.bind(1, row)
        return try statement.step() ? Self.entry(statement, key: nil) : nil
    }

    private func eachRank(
        _ query: EntryQuery, after first: Int64, through last: Int64, _ body: (RankedRow) -> Void
    ) throws(StorageError) {
        let ranks = try rankingStatement(query, after: first, through: last)
        defer { ranks.finalize() }
        while try ranks.step() { body(RankedRow(number: ranks.int64(0), text: ranks.text(1), row: ranks.int64(2))) }
    }

    private func rankingStatement(
        _ query: EntryQuery, after first: Int64, through last: Int64
    ) throws(StorageError) -> Statement {
        let ranks = try temporaryStatement(query.ranking)
        query.filter.bind(ranks, after: first)
        ranks.bind(8, last)
        // A negative limit is none.
        ranks.bind(9, Int64(query.limit ?? -1))
        return ranks
    }
}
