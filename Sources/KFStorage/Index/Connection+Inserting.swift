/// Insertions. Each statement runs for all rows before the next one, so that its code stays in the processor's
/// first-level cache, which does not hold the code of all statements of an image.
extension Connection {
    private static let insertObject = Query(
        """
        INSERT INTO objects (id, hash, ext, size, mtime, refs, width, height, frames)
        VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING
        """)
    private static let insertEntry = Query(
        """
        INSERT INTO entries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
        ON CONFLICT (id) DO NOTHING
        """)
    private static let insertTime = Query(Connection.timesSQL(1))
    private static let insertTimes = Query(Connection.timesSQL(timesAtOnce))
    /// The number of rows of a statement for many. Beginning and ending a statement costs as much as half a row.
    private static let timesAtOnce = 8

    private static func timesSQL(_ count: Int) -> String {
        let rows = Array(repeating: "(?, ?, ?, ?)", count: count).joined(separator: ", ")
        return "INSERT INTO times (id, accessed, expires, hits) VALUES \(rows)"
    }

    private static let hostID = Query("SELECT id FROM hosts WHERE name = ?1")
    private static let insertHost = Query("INSERT INTO hosts (name) VALUES (?1) RETURNING id")
    private static let formatID = Query("SELECT id FROM formats WHERE name = ?1")
    private static let insertFormat = Query("INSERT INTO formats (name) VALUES (?1) RETURNING id")

    /// Inserts the objects of new images, each with one reference, until the row of one is taken. Returns those that it
    /// inserted.
    func claim(_ images: ArraySlice<NewImage>) throws(StorageError) -> [StoredObject] {
        let insert = try statement(Self.insertObject)
        defer { insert.reset() }
        var objects: [StoredObject] = []
        objects.reserveCapacity(images.count)
        for image in images {
            guard let object = try image.put.staged?.object(of: image.put),
                try self.insert(object, row: EntryKey.place(object.digest), insert)
            else { break }
            objects.append(object)
        }
        return objects
    }

    /// Inserts an object with one reference unless its row is taken; returns whether it did.
    func insert(_ object: StoredObject, row: Int64) throws(StorageError) -> Bool {
        let insert = try statement(Self.insertObject)
        defer { insert.reset() }
        return try self.insert(object, row: row, insert)
    }

    private func insert(_ object: StoredObject, row: Int64, _ insert: Statement) throws(StorageError) -> Bool {
        let pixels = object.pixels
        insert.bind(from: 1, row, object.digest, object.fileExtension, object.size)
        insert.bind(
            from: 5, object.modified, pixels.map { Int64($0.width) }, pixels.map { Int64($0.height) },
            pixels.map { Int64($0.frames) })
        try insert.runBound()
        guard hasChanged else { return false }
        tally.addObject(size: object.size, count: 1)
        return true
    }

    /// Inserts an entry into a row that must be free.
    func insertOnly(_ row: EntryRow) throws(StorageError) {
        guard try insert([row]).isEmpty else { throw .corruptIndex(path: path, detail: "a free row is taken") }
    }

    /// Inserts entries with their times, unless their rows are taken. Returns the places of those whose row is.
    func insert(_ rows: [EntryRow]) throws(StorageError) -> [Int] {
        let taken = try insertEntries(rows)
        var new = rows
        for place in taken.reversed() { new.remove(at: place) }
        var rest = new[...]
        while !rest.isEmpty {
            let count = rest.count < Self.timesAtOnce ? 1 : Self.timesAtOnce
            try insertTimes(rest.prefix(count), count == 1 ? Self.insertTime : Self.insertTimes)
            rest.removeFirst(count)
        }
        tally.add(new)
        return taken
    }

    private func insertTimes(_ rows: ArraySlice<EntryRow>, _ query: Query) throws(StorageError) {
        let times = try statement(query)
        var first: Int32 = 1
        for row in rows {
            let entry = row.entry
            times.bind(from: first, entry.row, entry.accessed.milliseconds, entry.expires.milliseconds, entry.hits)
            first += 4
        }
        try times.run()
    }

    private func insertEntries(_ rows: [EntryRow]) throws(StorageError) -> [Int] {
        let insert = try statement(Self.insertEntry)
        var texts = BoundTexts()
        defer { insert.reset() }
        var taken: [Int] = []
        for (place, row) in rows.enumerated() {
            let entry = row.entry
            texts.removeAll()
            let parent = entry.key.identifier.isEmpty ? nil : entry.key.source.id
            let extending = Self.column(entry.extending, now: entry.created)
            entry.row.bind(to: insert, at: 1)
            texts.bind(entry.key.key, to: insert, at: 2)
            texts.bind(entry.key.identifier, to: insert, at: 3)
            parent.bind(to: insert, at: 4)
            insert.bind(from: 5, row.object, entry.original, row.host, row.format)
            insert.bind(from: 9, entry.object.size, entry.created.milliseconds, entry.timeToLive, extending)
            texts.bind(entry.url, to: insert, at: 13)
            texts.bind(entry.etag, to: insert, at: 14)
            texts.bind(entry.lastModified, to: insert, at: 15)
            texts.bind(entry.freshness, to: insert, at: 16)
            try insert.runBound()
            if !hasChanged { taken.append(place) }
        }
        return taken
    }

    func hostLabel(_ name: String) throws(StorageError) -> Int64 {
        try label(name, &hostRows, find: Self.hostID, insert: Self.insertHost)
    }

    func formatLabel(_ name: String) throws(StorageError) -> Int64 {
        try label(name, &formatRows, find: Self.formatID, insert: Self.insertFormat)
    }

    private func label(
        _ name: String, _ known: inout LabelRows, find: Query, insert: Query
    ) throws(StorageError) -> Int64 {
        if let row = known[name] { return row }
        var row = try first(find, name) { $0.int64(0) }
        if row == nil { row = try first(insert, name) { $0.int64(0) } }
        guard let row else {
            throw .database(path: path, code: 0, message: "no row was inserted for the label \(name)")
        }
        known.add(name, row)
        return row
    }
}

/// An entry with the numbers that stand for its object and its labels.
struct EntryRow {
    var entry: Entry
    let object: Int64
    let host: Int64
    let format: Int64

    var facts: Tally.Facts {
        Tally.Facts(
            isVariant: !entry.key.identifier.isEmpty, host: host, format: format, size: entry.object.size,
            created: entry.created.milliseconds)
    }

    /// Whether both count for the same sums.
    func isCounted(with other: EntryRow) -> Bool {
        let (mine, others) = (entry, other.entry)
        return host == other.host && format == other.format
            && mine.key.identifier.isEmpty == others.key.identifier.isEmpty
            && mine.created.milliseconds / Tally.hour == others.created.milliseconds / Tally.hour
            && mine.expires.milliseconds / Tally.hour == others.expires.milliseconds / Tally.hour
    }
}

extension Store.Put {
    /// Returns the entry that the store makes in a row.
    func entry(_ object: StoredObject, row: Int64, hits: Int64 = 0, now: Timestamp) -> Entry {
        Entry(
            key: key, row: row, object: object, original: facts.original, url: facts.url, etag: facts.etag,
            lastModified: facts.lastModified, freshness: facts.freshness, created: facts.past?.created ?? now,
            timeToLive: facts.timeToLive ?? facts.expiration.timeToLive(from: now),
            extending: Connection.extending(Connection.column(facts.extending, now: now)),
            accessed: facts.past?.accessed ?? now, expires: facts.expiration.expiry(from: now),
            hits: hits.adding(saturating: facts.past?.hits ?? 0))
    }
}
