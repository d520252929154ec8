extension Connection {
    private static let entryCount = Query("SELECT entries FROM totals")
    private static let userVersion = Query("PRAGMA user_version")
    private static let entryByRow = entryQuery("WHERE e.id = ?1")

    func count() throws(StorageError) -> Int { Int(try integer(Self.entryCount)) }

    /// The first of the rows between `first` and `last`, in order.
    func ranking(_ query: EntryQuery, after first: Int64, through last: Int64) throws(StorageError) -> [RankedRow] {
        try ranks(try rankingStatement(query, after: first, through: last))
    }

    /// The first of all rows, from the index over what is large; nil when that has not enough of them.
    func rankingOfLarge(_ query: EntryQuery) throws(StorageError) -> [RankedRow]? {
        guard query.beginsWithLarge, let limit = query.limit, try integer(Self.userVersion) == Schema.version else {
            return nil
        }
        let found = try ranks(try rankingStatement(query, after: .min, through: .max, ofLarge: true))
        return found.count == limit ? found : nil
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

    private func ranks(_ statement: Statement) throws(StorageError) -> [RankedRow] {
        defer { statement.finalize() }
        var found: [RankedRow] = []
        while try statement.step() {
            found.append(RankedRow(number: statement.int64(0), text: statement.text(1), row: statement.int64(2)))
        }
        return found
    }

    private func rankingStatement(
        _ query: EntryQuery, after first: Int64, through last: Int64, ofLarge: Bool = false
    ) throws(StorageError) -> Statement {
        let ranks = try temporaryStatement(query.ranking(ofLarge: ofLarge))
        query.filter.bind(ranks, after: first)
        ranks.bind(8, last)
        // A negative limit is none.
        ranks.bind(9, Int64(query.limit ?? -1))
        return ranks
    }
}
