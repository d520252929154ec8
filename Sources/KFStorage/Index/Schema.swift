/// The index's tables: format 3, or format 4 with tags.
///
/// Rows that are looked up by content or key have the first 64 bits of a SHA-256 as their INTEGER PRIMARY KEY. A
/// million lookups took 2.3–3.7 s in 5 MiB with it, and 6–10 s with a text key.
///
/// Columns that change on reading (`times`) are in a table apart from the others (`entries`). Each transaction adds its
/// changes to the totals, so that counting never scans.
enum Schema {
    /// The format of a new index.
    static let version = 3
    /// The format of an index with the tables of tags, which the first tag makes. An index without tags keeps the
    /// format before, which older programs can read, and costs a look-up nothing.
    static let tagged = 4
    /// The least size in bytes of an entry in the partial index by size.
    ///
    /// A list by size begins with the largest entries. An index over only these costs small entries nothing, and large
    /// ones little compared with writing their files.
    static let large = 262_144
    /// The SQL that migrates the format of each number to the next.
    static let migrations = [
        // Format 1 kept its sums by triggers.
        1: """
        DROP TRIGGER IF EXISTS entry_added;
        DROP TRIGGER IF EXISTS entry_removed;
        DROP TRIGGER IF EXISTS time_added;
        DROP TRIGGER IF EXISTS time_removed;
        DROP TRIGGER IF EXISTS expiry_moved;
        DROP TRIGGER IF EXISTS object_added;
        DROP TRIGGER IF EXISTS object_removed;
        """,
        // Format 2 had no index by size.
        2: "CREATE INDEX IF NOT EXISTS entries_large ON entries(size) WHERE size >= \(large);",
    ]
    /// "kfim", which distinguishes the index from another program's database.
    static let applicationID = 0x6b66_696d

    static let creation = """
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(version);
        \(parts.map { "\($0.sql);" }.joined(separator: "\n"))
        INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0);
        """

    /// A table or an index.
    struct Part {
        let name: StaticString
        let sql: StaticString
    }

    /// The SQL that makes the tables of tags.
    static let tagging =
        tagParts.map { "\($0.sql);" }.joined(separator: "\n") + "PRAGMA user_version = \(tagged);"

    static let tagParts = [
        Part(
            name: "tags",
            sql: """
                CREATE TABLE tags (
                    entry INTEGER NOT NULL,      -- entries.id
                    name TEXT NOT NULL, PRIMARY KEY (entry, name)) WITHOUT ROWID
                """),
        Part(name: "tags_name", sql: "CREATE INDEX tags_name ON tags(name)"),
    ]

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
            name: "entries_large", sql: "CREATE INDEX entries_large ON entries(size) WHERE size >= 262144"),
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

    /// Returns the first difference between the index's schema and kf's own of this format; nil if there is none.
    ///
    /// A foreign schema may contain triggers, views, generated columns or expressions that run with the reader's
    /// rights. The schema of a new index, byte for byte and in order, takes a tenth of the comparison by names.
    func schemaProblem(_ version: Int) throws(StorageError) -> String? {
        let row = try statement(Self.schema)
        defer { row.reset() }
        var missing = version < Schema.tagged ? Schema.parts : Schema.parts + Schema.tagParts
        while try row.step() {
            if let part = missing.first, row.equals(1, part.name), row.equals(2, part.sql) {
                missing.removeFirst()
                continue
            }
            let (type, name, sql) = (row.text(0), row.text(1), row.text(2))
            if let place = missing.firstIndex(where: { "\($0.name)" == name && $0.isExpected(sql) }) {
                missing.remove(at: place)
                continue
            }
            // SQLite makes indexes without SQL for unique columns. ANALYZE makes tables that only give hints.
            let isOwnOfSQLite = name.hasPrefix("sqlite_autoindex_") && sql.isEmpty || name.hasPrefix("sqlite_stat")
            // Format 1 kept its sums by triggers; they are dropped before anything is written, and never run.
            let isOfFormat1 = type == "trigger" && version == 1
            guard isOwnOfSQLite || isOfFormat1 else { return "its \(type) \(name) differs from kf's schema" }
        }
        let names = missing.map { "\($0.name)" }.filter { version >= Schema.version || $0 != "entries_large" }
        return names.min().map { "\($0) is missing" }
    }
}

extension Schema.Part {
    /// The table of the first indexes of format 1, which also kept the counts of reads.
    private static let oldTotals = plain(
        """
        CREATE TABLE totals (
            id INTEGER PRIMARY KEY CHECK (id = 0),
            entries INTEGER NOT NULL, variants INTEGER NOT NULL, bytes INTEGER NOT NULL,
            objects INTEGER NOT NULL, stored INTEGER NOT NULL,
            hits INTEGER NOT NULL, misses INTEGER NOT NULL, since INTEGER NOT NULL)
        """)

    /// Returns whether the SQL is kf's. Comments and spaces may differ, as they did in other versions.
    fileprivate func isExpected(_ sql: String) -> Bool {
        let found = Self.plain(sql)
        return found == Self.plain("\(self.sql)") || "\(name)" == "totals" && found == Self.oldTotals
    }

    /// Returns the SQL without comments, and with single spaces.
    ///
    /// It works on bytes, as SQLite does. For Swift, a carriage return and a line feed are one Character, so a comment
    /// would not end there and would hide the SQL behind it.
    private static func plain(_ sql: String) -> String {
        let words = sql.utf8.split(separator: UInt8(ascii: "\n")).flatMap { line in
            line.prefix(upTo: line.firstRange(of: "--".utf8)?.lowerBound ?? line.endIndex).split(
                separator: UInt8(ascii: " "))
        }
        return String(decoding: Array(words.joined(separator: [UInt8(ascii: " ")])), as: UTF8.self)
    }
}

extension Connection {
    /// Migrates an index of an older format, step by step in one transaction. Does nothing if another process has
    /// already done so. The write lock must be held.
    func migrate() throws(StorageError) {
        try transaction { () throws(StorageError) in
            var version = try version
            while version < Schema.version, let step = Schema.migrations[version] {
                try execute(step)
                version += 1
                try execute("PRAGMA user_version = \(version)")
            }
        }
    }
}
