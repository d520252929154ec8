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
