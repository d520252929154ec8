/// The tags of entries. The first tag makes their tables, and changes the index's format.
extension Connection {
    private static let add = Query("INSERT OR IGNORE INTO tags (entry, name) VALUES (?1, ?2)")
    private static let remove = Query("DELETE FROM tags WHERE entry = ?1")
    private static let ofEntry = Query("SELECT name FROM tags WHERE entry = ?1 ORDER BY name")
    private static let shares = Query(
        """
        SELECT name, CAST(total(n) AS INTEGER), CAST(total(size) AS INTEGER) FROM (
            SELECT t.name AS name, count(*) AS n, max(e.size) AS size FROM tags t JOIN entries e ON e.id = t.entry
            GROUP BY t.name, e.object)
        GROUP BY name ORDER BY name
        """)
    private static let stray = Query(
        "SELECT DISTINCT entry FROM tags WHERE entry NOT IN (SELECT id FROM entries) ORDER BY entry LIMIT ?1")

    /// Whether the index has the tables of tags.
    var hasTags: Bool { get throws(StorageError) { try version >= Schema.tagged } }

    /// Adds tags to an entry. Must run in a transaction.
    func tag(row: Int64, _ names: some Sequence<String>) throws(StorageError) {
        if try !hasTags { try execute(Schema.tagging) }
        for name in names { try run(Self.add, row, name) }
    }

    /// Returns the tags of an entry, in order.
    func tags(row: Int64) throws(StorageError) -> [String] {
        try hasTags ? all(Self.ofEntry, row) { $0.text(0) } : []
    }

    /// Returns the entries of each tag, in the order of names. Equal bytes count once.
    func tagShares() throws(StorageError) -> [CacheShare] {
        try hasTags ? shares(Self.shares) : []
    }

    func removeTags(row: Int64) throws(StorageError) {
        if try hasTags { try run(Self.remove, row) }
    }

    /// Returns up to `count` rows that have tags and no entry. Only a program that knew no tags can leave them.
    func strayTags(count: Int) throws(StorageError) -> [Int64] {
        try hasTags ? all(Self.stray, Int64(count)) { $0.int64(0) } : []
    }
}

extension DiskStorage {
    /// Returns the entries of each tag, in the order of names. Equal bytes count once.
    package func tags() throws(StorageError) -> [CacheShare] {
        try read { connection throws(StorageError) in try connection.tagShares() }
    }

    /// The number of entries that one transaction tags.
    private static let taggedAtOnce = 1024

    /// Adds tags to entries. Keys without an entry are left out, and entries that have the tags already cost no write.
    package func tag(_ keys: [EntryKey], _ tags: Set<String>) throws(StorageError) {
        guard !tags.isEmpty else { return }
        var rest = keys[...]
        while !rest.isEmpty {
            let slice = rest.prefix(Self.taggedAtOnce)
            rest = rest.dropFirst(slice.count)
            let untagged = try read { connection throws(StorageError) in
                try connection.reading { () throws(StorageError) in
                    var untagged: [EntryKey] = []
                    for key in slice {
                        guard let entry = try connection.entry(key) else { continue }
                        if try !tags.isSubset(of: connection.tags(row: entry.row)) { untagged.append(key) }
                    }
                    return untagged
                }
            }
            guard !untagged.isEmpty else { continue }
            try writer.perform { connection throws(StorageError) in
                for key in untagged {
                    if let entry = try connection.entry(key) { try connection.tag(row: entry.row, tags) }
                }
            }
        }
    }
}
