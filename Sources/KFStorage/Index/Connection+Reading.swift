/// Look-ups in the index. Each is one read transaction, and none takes a lock of the cache's own.
extension Connection {
    static let columns = "\(noTexts), +e.url, +e.etag, +e.last_modified, +e.freshness"

    /// As expressions, for which SQLite does not consider whether an index has the column: preparing a look-up takes a
    /// sixth less.
    private static let noTexts = """
        +e.id, +e.key, +e.identifier, +e.original, +e.created, +e.ttl, +e.extending, +t.accessed, +t.expires, +t.hits,
        +o.hash, +o.ext, +o.size, +o.mtime, +o.width, +o.height, +o.frames
        """
    private static let textColumns: Range<Int32> = 17..<21

    private static let places = "WHERE e.id BETWEEN ?1 AND ?1 + 3"
    private static let entryByPlace = entryQuery(Connection.places)
    private static let entryWithoutTexts = Query(entrySQL(Connection.places, columns: noTexts))
    /// The number of keys that one statement looks up. Each costs a key's look-up to prepare.
    private static let run = 16
    private static let entries = runQuery(columns)
    private static let entriesWithoutTexts = runQuery(noTexts)
    private static let entriesByParent = entryQuery("WHERE e.parent = ?1 AND e.key = ?2")

    private static func runQuery(_ columns: String) -> Query {
        let keys = (0..<run).map { "(?, \($0))" }.joined(separator: ", ")
        return Query(
            """
            SELECT \(columns), k.column2 FROM (VALUES \(keys)) k CROSS JOIN entries e
            ON e.id BETWEEN k.column1 AND k.column1 + 3
            CROSS JOIN times t ON t.id = e.id CROSS JOIN objects o ON o.id = e.object
            """)
    }

    private static func entryQuery(_ condition: String) -> Query { Query(entrySQL(condition)) }

    private static func entrySQL(_ condition: String, columns: String = Connection.columns) -> String {
        """
        SELECT \(columns) FROM entries e CROSS JOIN times t ON t.id = e.id CROSS JOIN objects o ON o.id = e.object
        \(condition)
        """
    }

    /// Returns the entry of a key, even if it is expired. Without `withTexts`, it lacks the URL, the validators and the
    /// header lines of the response.
    func entry(_ key: EntryKey, withTexts: Bool = true) throws(StorageError) -> Entry? {
        let statement = try statement(withTexts ? Self.entryByPlace : Self.entryWithoutTexts)
        defer { statement.reset() }
        key.id.bind(to: statement, at: 1)
        // At most one of the rows has the key, most often the first. An unusable row counts as missing.
        while try statement.step() {
            if let entry = Self.entry(statement, ifOf: key, withTexts) { return entry }
        }
        return nil
    }

    private static func entry(_ row: Statement, ifOf key: EntryKey, _ withTexts: Bool) -> Entry? {
        row.equals(1, key.key) && row.equals(2, key.identifier) ? entry(row, key, withTexts) : nil
    }

    /// Calls `found` with the entry of each key that has one, even if it is expired, and with the key's index. `order` has the
    /// indexes of the keys by their ids: neighbours are on the same pages.
    func entries(
        _ keys: [EntryKey], _ order: [Int], withTexts: Bool, _ found: (Int, Entry) -> Void
    ) throws(StorageError) {
        let numbers = withTexts ? Self.textColumns.upperBound : Self.textColumns.lowerBound
        var first = 0
        // A statement of many keys costs a third less a key, once it is prepared.
        while order.count - first >= Self.run {
            let statement = try statement(withTexts ? Self.entries : Self.entriesWithoutTexts)
            defer { statement.reset() }
            for number in 0..<Self.run {
                keys[order[first + number]].id.bind(to: statement, at: Int32(clamping: number + 1))
            }
            while try statement.step() {
                let index = order[first + Int(clamping: statement.int64(numbers))]
                if let entry = Self.entry(statement, ifOf: keys[index], withTexts) { found(index, entry) }
            }
            first += Self.run
        }
        for index in order[first...] {
            if let entry = try entry(keys[index], withTexts: withTexts) { found(index, entry) }
        }
    }

    /// Returns the entries of a source: its original and everything made from it.
    func variants(of key: EntryKey) throws(StorageError) -> [Entry] {
        let original = key.source
        let first = try entry(original).map { [$0] } ?? []
        return try first + all(Self.entriesByParent, original.id, original.key) { Self.entry($0) }
    }

    /// Reads an entry; nil if its object is not one that kf could have stored.
    static func entry(_ row: Statement) -> Entry? {
        entry(row, EntryKey(key: row.text(1), identifier: row.text(2)), true)
    }

    private static func entry(_ row: Statement, _ key: EntryKey, _ withTexts: Bool) -> Entry? {
        guard let object = row.object(10, pixels: pixels(row, 14)) else { return nil }
        return Entry(
            key: key, row: row.int64(0), object: object, original: row.digest(3),
            url: withTexts ? row.optionalText(17) : nil, etag: withTexts ? row.headerText(18) : nil,
            lastModified: withTexts ? row.headerText(19) : nil, freshness: withTexts ? row.optionalText(20) : nil,
            created: Timestamp(milliseconds: row.int64(4)), timeToLive: row.optionalInt64(5),
            extending: extending(row.optionalInt64(6)), accessed: Timestamp(milliseconds: row.int64(7)),
            expires: Timestamp(milliseconds: row.int64(8)), hits: row.count(9))
    }

    private static func pixels(_ row: Statement, _ first: Int32) -> PixelFacts? {
        let numbers = (row.int64(first), row.int64(first + 1), row.int64(first + 2))
        // NULL columns read as 0 and give nil too.
        let valid = 1...Int64(Int32.max)
        guard valid ~= numbers.0, valid ~= numbers.1, valid ~= numbers.2 else { return nil }
        return PixelFacts(width: Int(numbers.0), height: Int(numbers.1), frames: Int(numbers.2))
    }

    static func extending(_ column: Int64?) -> ExpirationExtending {
        switch column {
        case nil: .none
        case .some(-1): .cacheTime
        case .some(.max): .expirationTime(.never)
        case .some(let span): .expirationTime(.seconds(Double(span) / 1000))
        }
    }

    static func column(_ extending: ExpirationExtending, now: Timestamp) -> Int64? {
        switch extending {
        case .none: nil
        case .cacheTime: -1
        case .expirationTime(let expiration): expiration.timeToLive(from: now) ?? .max
        }
    }
}

extension Connection {
    private static let entryCount = Query("SELECT entries FROM totals")
    private static let entryByRow = entryQuery("WHERE e.id = ?1")

    func count() throws(StorageError) -> Int { Int(try integer(Self.entryCount)) }

    /// Returns the first ranks of the query among the rows after `first`, up to `last`.
    func ranking(
        _ query: EntryQuery, after first: Int64, through last: Int64, ofLarge: Bool = false
    ) throws(StorageError) -> [RankedRow] {
        var found: [RankedRow] = []
        try forEachRank(query, after: first, through: last, ofLarge: ofLarge) { row in
            found.append(RankedRow(number: row.int64(0), text: row.text(1), row: row.int64(2)))
            return true
        }
        return found
    }

    /// Returns the first ranks from the partial index over large entries; nil if it has too few entries.
    func rankingOfLarge(_ query: EntryQuery) throws(StorageError) -> [RankedRow]? {
        guard query.beginsWithLarge, let limit = query.limit, try version >= Schema.version else {
            return nil
        }
        let found = try ranking(query, after: .min, through: .max, ofLarge: true)
        return found.count == limit ? found : nil
    }

    /// Calls `body` with the entries of the query in order, from one snapshot, until it returns false.
    ///
    /// SQLite sorts only the ranks, in bounded memory; each entry is read when its turn comes.
    func eachEntry(_ query: EntryQuery, _ body: (Entry) -> Bool) throws(StorageError) {
        try reading { () throws(StorageError) in
            try forEachRank(query, after: .min, through: .max) { rank throws(StorageError) in
                try taggedEntry(row: rank.int64(2)).map(body) ?? true
            }
        }
    }

    /// Calls `body` with the entries that match a filter without a host, in the order of their rows and without their tags.
    /// A million entries take half the time that they would take in any other order.
    func eachEntry(matching filter: EntryFilter, _ body: (Entry) -> Void) throws(StorageError) {
        try forEach(matching: filter, Self.entrySQL(filter.condition(hasTags: try hasTags))) { row in
            if let entry = Self.entry(row) { body(entry) }
            return true
        }
    }

    func entry(row: Int64) throws(StorageError) -> Entry? {
        try first(Self.entryByRow, row) { Self.entry($0) }
    }

    func taggedEntry(row: Int64) throws(StorageError) -> Entry? {
        guard let entry = try entry(row: row) else { return nil }
        let tags = try tags(row: row)
        return tags.isEmpty ? entry : entry.with(tags: tags)
    }

    /// Calls `body` with each row after `row` of a statement with the condition of a filter, until it returns false.
    /// `bind` binds parameters that are not the filter's.
    func forEach(
        matching filter: EntryFilter, _ sql: String, after row: Int64 = .min, bind: (Statement) -> Void = { _ in },
        _ body: (Statement) throws(StorageError) -> Bool
    ) throws(StorageError) {
        try install(filter)
        let statement = try temporaryStatement(sql)
        defer { statement.finalize() }
        filter.bind(statement, after: row)
        bind(statement)
        while try statement.step(), try body(statement) {}
    }

    private func forEachRank(
        _ query: EntryQuery, after first: Int64, through last: Int64, ofLarge: Bool = false,
        _ body: (Statement) throws(StorageError) -> Bool
    ) throws(StorageError) {
        let sql = query.ranking(ofLarge: ofLarge, hasTags: try hasTags)
        try forEach(matching: query.filter, sql, after: first) { ranks in
            last.bind(to: ranks, at: 8)
            // A negative LIMIT means no limit.
            Int64(query.limit ?? -1).bind(to: ranks, at: 9)
        } _: { row throws(StorageError) in
            try body(row)
        }
    }
}

/// A check that rows come in ascending order, from the first one that was asked for. On a damaged page they may not, and
/// a loop that continues after the last row of each page of results would never end.
struct AscendingRows {
    private let path: String
    private let first: Int64
    private(set) var last: Int64?
    private(set) var count = 0

    init(_ path: String, from first: Int64) {
        self.path = path
        self.first = first
    }

    mutating func take(_ row: Int64) throws(StorageError) -> Int64 {
        if row < first || last.map({ row <= $0 }) ?? false {
            throw .corruptIndex(path: path, detail: "its rows are out of order")
        }
        last = row
        count += 1
        return row
    }

    /// Returns the first row of the next page of results, after a page of up to `limit` rows; nil if there is none.
    func next(limit: Int) -> Int64? {
        guard let last, count == limit, last < .max else { return nil }
        return last + 1
    }
}
