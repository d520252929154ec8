extension Connection {
    private static let schema = Query("SELECT type, name, coalesce(sql, '') FROM sqlite_schema")

    /// What is wrong with the schema of an index of this format; nil when it is kf's to the word. An index of another
    /// program may carry triggers, views, generated columns or expressions that run with the rights of its reader.
    func schemaProblem(_ version: Int) throws(StorageError) -> String? {
        let row = try statement(Self.schema)
        defer { row.reset() }
        var missing = Schema.names
        while try row.step() {
            let (type, name, sql) = (row.text(0), row.text(1), row.text(2))
            if Schema.isExpected(name, sql) {
                missing.remove(name)
                continue
            }
            // Unique columns bring indexes without a text; ANALYZE brings tables that are only asked for hints.
            let isOwnOfSQLite = name.hasPrefix("sqlite_autoindex_") && sql.isEmpty || name.hasPrefix("sqlite_stat")
            // Format 1 kept its sums by triggers; they are dropped before anything is written, and never run.
            let isOfFormat1 = type == "trigger" && version == 1
            guard isOwnOfSQLite || isOfFormat1 else { return "its \(type) \(name) is not what kf makes" }
        }
        if version < Schema.version { missing.remove("entries_large") }
        return missing.min().map { "\($0) is missing" }
    }
}

extension Schema {
    static let names = Set(parts.map(\.name))
    private static let texts = Dictionary(uniqueKeysWithValues: parts.map { ($0.name, $0.sql) })
    private static let plainTexts = texts.mapValues(plain)
    /// The first indexes of format 1 kept the counts of reads here.
    private static let oldTotals = plain(
        """
        CREATE TABLE totals (
            id INTEGER PRIMARY KEY CHECK (id = 0),
            entries INTEGER NOT NULL, variants INTEGER NOT NULL, bytes INTEGER NOT NULL,
            objects INTEGER NOT NULL, stored INTEGER NOT NULL,
            hits INTEGER NOT NULL, misses INTEGER NOT NULL, since INTEGER NOT NULL)
        """)

    /// Comments and spaces may differ: they did in other versions.
    fileprivate static func isExpected(_ name: String, _ sql: String) -> Bool {
        guard let text = texts[name] else { return false }
        if text == sql { return true }
        let found = plain(sql)
        return found == plainTexts[name] || name == "totals" && found == oldTotals
    }

    /// Without comments, and with one space where there are any. Byte by byte, as SQLite reads it: for Swift a carriage
    /// return before the line feed would make the line go on, and hide what stands there.
    private static func plain(_ sql: String) -> String {
        let words = sql.utf8.split(separator: UInt8(ascii: "\n")).flatMap { line in
            line.prefix(upTo: line.firstRange(of: "--".utf8)?.lowerBound ?? line.endIndex).split(
                separator: UInt8(ascii: " "))
        }
        return String(decoding: Array(words.joined(separator: [UInt8(ascii: " ")])), as: UTF8.self)
    }
}
