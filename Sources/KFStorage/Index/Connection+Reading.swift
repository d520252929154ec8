/// Questions to the index. Each is one read transaction; none takes a lock of the cache's own.
extension Connection {
    private static let columns = """
        e.id, e.key, e.identifier, e.original, e.url, e.etag, e.last_modified, e.freshness, e.created, e.ttl,
        e.extending, t.accessed, t.expires, t.hits, o.hash, o.ext, o.size, o.mtime, o.width, o.height, o.frames
        """

    private static let entryByKey = Query(
        """
        SELECT \(columns) FROM entries e CROSS JOIN times t ON t.id = e.id CROSS JOIN objects o ON o.id = e.object
        WHERE e.id BETWEEN ?1 AND ?1 + 3 AND e.key = ?2 AND e.identifier = ?3
        """)
    private static let entriesByParent = Query(
        """
        SELECT \(columns) FROM entries e CROSS JOIN times t ON t.id = e.id CROSS JOIN objects o ON o.id = e.object
        WHERE e.parent = ?1 AND e.key = ?2
        """)

    static func entryQuery(_ condition: String) -> Query {
        Query(
            """
            SELECT \(columns) FROM entries e CROSS JOIN times t ON t.id = e.id CROSS JOIN objects o ON o.id = e.object
            \(condition)
            """)
    }

    /// Also expired ones: what that means is the caller's to say.
    func entry(_ key: EntryKey) throws(StorageError) -> Entry? {
        let statement = try statement(Self.entryByKey)
        defer { statement.reset() }
        statement.bind(1, key.id)
        statement.bind(2, key.key)
        statement.bind(3, key.identifier)
        return try statement.step() ? Self.entry(statement, key: key) : nil
    }

    /// The entries of a source: its original and everything made from it.
    func variants(of key: EntryKey) throws(StorageError) -> [Entry] {
        let original = key.original
        let statement = try statement(Self.entriesByParent)
        defer { statement.reset() }
        statement.bind(1, original.id)
        statement.bind(2, original.key)
        var found: [Entry] = []
        if let entry = try entry(original) { found.append(entry) }
        while try statement.step() { found.append(try Self.entry(statement, key: nil)) }
        return found
    }

    static func entry(_ row: Statement, key: EntryKey?) throws(StorageError) -> Entry {
        guard let digest = row.digest(14) else {
            throw .corruptIndex(path: row.path, detail: "an object without its hash")
        }
        var pixels: PixelFacts?
        if let width = row.optionalInt64(18), let height = row.optionalInt64(19), let frames = row.optionalInt64(20) {
            pixels = PixelFacts(width: Int(width), height: Int(height), frames: Int(frames))
        }
        return Entry(
            key: key ?? EntryKey(key: row.text(1), identifier: row.text(2)), row: row.int64(0),
            object: StoredObject(
                digest: digest, fileExtension: row.text(15), size: row.int64(16), modified: row.int64(17),
                pixels: pixels),
            original: row.digest(3), url: row.optionalText(4), etag: row.optionalText(5),
            lastModified: row.optionalText(6), freshness: row.optionalText(7),
            created: Timestamp(milliseconds: row.int64(8)), timeToLive: row.optionalInt64(9),
            extending: extending(row.optionalInt64(10)), accessed: Timestamp(milliseconds: row.int64(11)),
            expires: Timestamp(milliseconds: row.int64(12)), hits: row.int64(13))
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
