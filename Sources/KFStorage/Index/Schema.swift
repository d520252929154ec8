/// The index's tables: format 3.
///
/// Rows that are looked up by content or key sit under the first 64 bits of a SHA-256 as their INTEGER PRIMARY KEY
/// (a text key took 6–10 s for a million lookups, this 2.3–3.7 s in 5 MiB). What changes on reading (`times`) is apart
/// from what does not (`entries`). Each transaction adds to the totals what it changed, so that counting never scans.
enum Schema {
    static let version = 3
    /// In bytes. What is listed by size begins with what is largest: an index over that alone costs the small ones, of which
    /// there are many, nothing, and the others next to nothing beside writing them.
    static let large = 256 << 10
    /// What makes the format of each number into the next one's.
    static let migrations = [
        // Sums were kept by triggers.
        1: """
        DROP TRIGGER IF EXISTS entry_added;
        DROP TRIGGER IF EXISTS entry_removed;
        DROP TRIGGER IF EXISTS time_added;
        DROP TRIGGER IF EXISTS time_removed;
        DROP TRIGGER IF EXISTS expiry_moved;
        DROP TRIGGER IF EXISTS object_added;
        DROP TRIGGER IF EXISTS object_removed;
        """,
        // The largest were found by reading all.
        2: "CREATE INDEX IF NOT EXISTS entries_large ON entries(size) WHERE size >= \(large);",
    ]
    /// "kfim": tells the index from another program's database.
    static let applicationID = 0x6b66_696d

    static let creation = """
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(version);
        \(parts.map { $0.sql + ";" }.joined(separator: "\n"))
        INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0);
        """

    /// A table or an index.
    struct Part {
        let name: String
        let sql: String
    }

    static let parts = [
        Part(
            name: "entries",
            sql: """
                CREATE TABLE entries (
                    id INTEGER PRIMARY KEY,      -- first 64 bits of sha256(key NUL identifier), or one of the next places
                    key TEXT NOT NULL,
                    identifier TEXT NOT NULL,    -- '' for an original
                    parent INTEGER,              -- where probing for the original starts; NULL for an original
                    object INTEGER NOT NULL,     -- objects.id
                    original BLOB,               -- sha256 of the original that this was made from
                    host INTEGER NOT NULL,
                    format INTEGER NOT NULL,
                    size INTEGER NOT NULL,       -- bytes, as in objects
                    created INTEGER NOT NULL,    -- times are milliseconds since 1970
                    ttl INTEGER,                 -- milliseconds; NULL: for ever
                    extending INTEGER,           -- NULL: none, -1: ttl again, else milliseconds from the read
                    url TEXT,                    -- without user info; NULL: the key is the URL
                    etag TEXT,
                    last_modified TEXT,
                    freshness TEXT               -- what a later request needs to know of the response, as its header lines
                )
                """),
        Part(
            name: "entries_large", sql: "CREATE INDEX entries_large ON entries(size) WHERE size >= \(large)"),
        Part(
            name: "entries_parent", sql: "CREATE INDEX entries_parent ON entries(parent) WHERE parent IS NOT NULL"),
        Part(
            name: "times",
            sql: """
                CREATE TABLE times (
                    id INTEGER PRIMARY KEY,      -- entries.id
                    accessed INTEGER NOT NULL,
                    expires INTEGER NOT NULL,
                    hits INTEGER NOT NULL DEFAULT 0
                )
                """),
        Part(
            name: "objects",
            sql: """
                CREATE TABLE objects (
                    id INTEGER PRIMARY KEY,      -- first 64 bits of hash, or one of the next places
                    hash BLOB NOT NULL,          -- sha256 of the bytes
                    ext TEXT NOT NULL,
                    size INTEGER NOT NULL,
                    mtime INTEGER NOT NULL,      -- nanoseconds since 1970
                    refs INTEGER NOT NULL,
                    width INTEGER,
                    height INTEGER,
                    frames INTEGER
                )
                """),
        Part(
            name: "hosts",
            sql: """
                CREATE TABLE hosts (
                    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
                    entries INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)
                """),
        Part(
            name: "formats",
            sql: """
                CREATE TABLE formats (
                    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
                    entries INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)
                """),
        Part(
            name: "ages",
            sql: """
                CREATE TABLE ages (
                    hour INTEGER PRIMARY KEY, entries INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)
                """),
        Part(
            name: "expiries",
            sql: """
                CREATE TABLE expiries (
                    hour INTEGER PRIMARY KEY, entries INTEGER NOT NULL DEFAULT 0)
                """),
        Part(
            name: "totals",
            sql: """
                CREATE TABLE totals (
                    id INTEGER PRIMARY KEY CHECK (id = 0),
                    entries INTEGER NOT NULL, variants INTEGER NOT NULL, bytes INTEGER NOT NULL,
                    objects INTEGER NOT NULL, stored INTEGER NOT NULL)
                """),
    ]
}

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

extension Connection {
    private static let userVersion = Query("PRAGMA user_version")

    /// Makes an index of an older format into one of the current, step by step in one transaction. Another process may
    /// have done it; the write lock must be held.
    func migrate() throws(StorageError) {
        try transaction { () throws(StorageError) in
            var version = Int(try integer(Self.userVersion))
            while version < Schema.version, let step = Schema.migrations[version] {
                try execute(step)
                version += 1
                try execute("PRAGMA user_version = \(version)")
            }
        }
    }
}
