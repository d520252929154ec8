import KFSystem

/// Changes to the index. All run inside a transaction of the `IndexWriter`, under the cache's write lock.
extension Connection {
    private static let objectByDigest = Query(
        "SELECT id, hash, ext, size, mtime FROM objects WHERE id BETWEEN ?1 AND ?1 + 3 ORDER BY id")
    private static let updateObject = Query("UPDATE objects SET mtime = ?2 WHERE id = ?1")
    private static let retainObject = Query(
        "UPDATE objects SET mtime = ?2, refs = refs + 1, ext = ?3, size = ?4 WHERE id = ?1")
    private static let countOne = Query("UPDATE objects SET refs = 1 WHERE id = ?1")
    private static let releaseObject = Query(
        "UPDATE objects SET refs = refs - 1 WHERE id = ?1 RETURNING refs, hash, ext, size, mtime")
    // RETURNING would double the cost of a deletion.
    private static let deleteObject = Query("DELETE FROM objects WHERE id = ?1")
    private static let rowsByKey = Query(
        "SELECT id, key, identifier, object FROM entries WHERE id BETWEEN ?1 AND ?1 + 3 ORDER BY id")
    private static let variantCount = Query("SELECT variants FROM totals")
    private static let outdatedRows = Query(
        "SELECT id, identifier FROM entries WHERE parent = ?1 AND key = ?2 AND coalesce(original <> ?3, ?4)")
    private static let presentOriginal = Query(
        """
        SELECT o.hash, e.id, e.created FROM entries e CROSS JOIN objects o ON o.id = e.object
        WHERE e.id BETWEEN ?1 AND ?1 + 3 AND e.key = ?2 AND e.identifier = ?3
        """)
    private static let entryToRemove = Query(
        """
        SELECT e.object, e.parent IS NOT NULL, e.host, e.format, e.size, e.created, t.expires, t.hits
        FROM entries e LEFT JOIN times t ON t.id = e.id WHERE e.id = ?1
        """)
    private static let objectOfEntry = Query("SELECT object FROM entries WHERE id = ?1")
    private static let deleteEntry = Query("DELETE FROM entries WHERE id = ?1")
    private static let deleteTime = Query("DELETE FROM times WHERE id = ?1")
    private static let expiry = Query("SELECT expires, accessed FROM times WHERE id = ?1")
    private static let touchTime = Query(
        "UPDATE times SET accessed = max(accessed, ?2), expires = max(expires, ?3), hits = hits + 1 WHERE id = ?1")

    /// Returns the row of the object with this digest; nil if there is none.
    func object(_ digest: Digest) throws(StorageError) -> KnownObject? { try place(of: digest).known }

    /// Inserts an object with one reference unless the index has it, and returns its row. `isNew`: it is not looked for
    /// first, because most likely it is new.
    func claim(_ object: StoredObject, isNew: Bool = false) throws(StorageError) -> ObjectPlace {
        let first = EntryKey.place(object.digest)
        if isNew, try insert(object, row: first) { return ObjectPlace(row: first) }
        let place = try place(of: object.digest)
        if place.known == nil, try !insert(object, row: place.row) {
            throw .corruptIndex(path: path, detail: "a free row is taken")
        }
        return place
    }

    /// Returns the present or future row of an object. If other objects occupy all its places, the first is replaced.
    func place(of digest: Digest) throws(StorageError) -> ObjectPlace {
        let first = EntryKey.place(digest)
        let statement = try statement(Self.objectByDigest)
        defer { statement.reset() }
        first.bind(to: statement, at: 1)
        var free = first
        while try statement.step() {
            let row = statement.int64(0)
            if statement.digest(1) == digest {
                let known = KnownObject(
                    row: row, fileExtension: statement.fileExtension(2), size: statement.int64(3),
                    modified: statement.int64(4))
                return ObjectPlace(row: row, known: known)
            }
            // Rows come in ascending order.
            if row == free { free += 1 }
        }
        return ObjectPlace(row: free < first + EntryKey.probes ? free : first)
    }

    /// Returns the cached original of a processed entry if it has other bytes than those that the entry was made from.
    func otherOriginal(
        of key: EntryKey, madeFrom original: Digest?
    ) throws(StorageError) -> (row: Int64, created: Timestamp)? {
        guard let original, !key.isOriginal else { return nil }
        let source = key.original
        return try first(Self.presentOriginal, source.id, source.key, source.identifier) { row in
            row.digest(0) == original
                ? nil : (row: row.int64(1), created: Timestamp(milliseconds: row.int64(2)))
        }
    }

    /// Removes an original that other bytes have replaced at its source, with everything that was not made from those.
    /// Returns the objects without references, whose files and rows the caller must remove.
    func removeOriginal(
        row: Int64, of key: EntryKey, replacedBy digest: Digest
    ) throws(StorageError) -> [UnusedObject] {
        try removeEntry(row: row).unused + removeOutdated(key.original, by: digest, replaces: true)
    }

    /// Inserts or replaces entries, statement by statement. The files of their objects must be in place already, and the
    /// objects' rows must count them. Returns the entries and the objects without references, whose files and rows the
    /// caller must remove.
    func put(
        _ images: ArraySlice<NewImage>, _ objects: [StoredObject], _ objectRows: [Int64]
    ) throws(StorageError) -> (entries: [Entry?], unused: [UnusedObject]) {
        var rows: [EntryRow] = []
        rows.reserveCapacity(objects.count)
        for (image, place) in zip(images, objects.indices) {
            let put = image.put
            let (host, format) = try (hostLabel(put.facts.host), formatLabel(put.facts.format))
            let entry = put.entry(objects[place], row: put.key.id, now: image.time)
            rows.append(EntryRow(entry: entry, object: objectRows[place], host: host, format: format))
        }
        // A new key, as most are, is not looked for first.
        let taken = try insert(rows)
        var unused: [UnusedObject] = []
        if try hasVariants {
            for (place, row) in rows.enumerated() where !taken.contains(place) {
                unused += try removeOutdated(row.entry.key, by: objects[place].digest, replaces: false)
            }
        }
        for place in taken {
            let (image, object) = (images[images.startIndex + place], objectRows[place])
            let (row, old) = try self.place(for: image.put.key)
            if old?.object != object {
                unused += try removeOutdated(image.put.key, by: objects[place].digest, replaces: old != nil)
            }
            var hits: Int64 = 0
            if let old {
                let removed = try removeEntry(row: old.row, keepsTags: old.isSame)
                unused += removed.unused
                if old.isSame { hits = removed.hits }
            }
            rows[place].entry = image.put.entry(objects[place], row: row, hits: hits, now: image.time)
            try insertOnly(rows[place])
        }
        try keep(rows, among: &unused)
        return (rows.map { $0.entry }, unused)
    }

    /// Keeps the objects that new entries use, if no later one has replaced them. Their reference counts were too low: after a
    /// killed eviction an old entry may have lacked its object, and held no reference to the one that now has its row.
    private func keep(_ rows: [EntryRow], among unused: inout [UnusedObject]) throws(StorageError) {
        if unused.isEmpty { return }
        for row in rows where unused.contains(where: { $0.row == row.object }) {
            let present = try first(Self.objectOfEntry, row.entry.row) { $0.int64(0) }
            guard present == row.object else { continue }
            unused.removeAll { $0.row == row.object }
            try run(Self.countOne, row.object)
        }
    }

    /// Whether any entry of the index was made from another one. Read in the transaction, which excludes other writers.
    private var hasVariants: Bool {
        get throws(StorageError) {
            if variants == nil { variants = try integer(Self.variantCount) }
            return (variants ?? 0).adding(saturating: tally.variants) > 0
        }
    }

    /// Removes the variants that were made from bytes other than the new original's. One of unknown origin goes only if
    /// the original `replaces` another one.
    private func removeOutdated(
        _ original: EntryKey, by digest: Digest, replaces: Bool
    ) throws(StorageError) -> [UnusedObject] {
        guard original.isOriginal, try hasVariants else { return [] }
        let rows = try all(
            Self.outdatedRows, original.source.id, original.key, digest, Int64(replaces ? 1 : 0)
        ) { row in
            let made = EntryKey.Identifier(row.text(1))
            return made.isProcessed && made.representation == original.representation ? row.int64(0) : nil
        }
        var unused: [UnusedObject] = []
        for row in rows { unused += try removeEntry(row: row).unused }
        return unused
    }

    /// Copies an entry from another index, keeping its row. Does nothing if the key already exists.
    func adopt(_ entry: Entry, host: String, format: String) throws(StorageError) {
        guard try place(for: entry.key).old == nil else { return }
        let place = try claim(entry.object)
        if let known = place.known { try retain(entry.object, known) }
        try insertOnly(EntryRow(entry: entry, object: place.row, host: hostLabel(host), format: formatLabel(format)))
    }

    /// Removes an entry with its times and, unless another one of the same key replaces it, its tags. Returns its
    /// object if that has no other reference, and its hits.
    @discardableResult
    func removeEntry(
        row: Int64, keepsTags: Bool = false
    ) throws(StorageError) -> (unused: [UnusedObject], hits: Int64) {
        let old = try statement(Self.entryToRemove)
        defer { old.reset() }
        old.bind(row)
        guard try old.step() else { return ([], 0) }
        let (object, hits) = (old.int64(0), old.int64(7))
        tally.add(
            Tally.Facts(
                isVariant: old.int64(1) != 0, host: old.int64(2), format: old.int64(3), size: old.int64(4),
                created: old.int64(5)), count: -1)
        if let expires = old.optionalInt64(6) { try removeTimes(row: row, expires: expires) }
        if !keepsTags { try removeTags(row: row) }
        try run(Self.deleteEntry, row)
        let unused = try first(Self.releaseObject, object) {
            $0.int64(0) <= 0 ? UnusedObject(row: object, object: $0.object(1)) : nil
        }
        return (unused.map { [$0] } ?? [], hits)
    }

    /// Removes the times of an entry, if there are any.
    func removeTimes(row: Int64) throws(StorageError) {
        if let expires = try expiry(row: row) { try removeTimes(row: row, expires: expires) }
    }

    private func removeTimes(row: Int64, expires: Int64) throws(StorageError) {
        try run(Self.deleteTime, row)
        tally.addExpiry(expires, count: -1)
    }

    func forgetObject(row: Int64) throws(StorageError) {
        if let object = try object(row: row) { try deleteObject(row: row, size: object.size) }
    }

    /// Removes the row of an object of this size, whose file has been removed.
    func deleteObject(row: Int64, size: Int64) throws(StorageError) {
        try run(Self.deleteObject, row)
        tally.addObject(size: size, count: -1)
    }

    /// Sets the modification time of an object: to that of its file, whose bytes are unchanged, or to one that no file
    /// has.
    func setModified(_ modified: Int64, object digest: Digest) throws(StorageError) {
        guard let known = try object(digest) else { return }
        try run(Self.updateObject, known.row, modified)
    }

    /// Returns the expiry of an entry; nil if it does not exist or was not last accessed before `time`.
    func expiry(row: Int64, ifAccessedBefore time: Timestamp = .distantFuture) throws(StorageError) -> Int64? {
        try first(Self.expiry, row) { $0.int64(1) < time.milliseconds ? $0.int64(0) : nil }
    }

    /// Records a read. Times never decrease, so that a clock that was set back does not age entries that others used.
    /// An entry that was stored or revalidated after the read is left unchanged.
    func touch(row: Int64, accessed: Timestamp, expires: Timestamp) throws(StorageError) {
        guard let old = try expiry(row: row, ifAccessedBefore: accessed) else { return }
        try run(Self.touchTime, row, accessed.milliseconds, expires.milliseconds)
        tally.addExpiry(old, count: -1)
        tally.addExpiry(max(old, expires.milliseconds), count: 1)
    }

    /// Counts a reference to an object that the index has, whose file may have been replaced.
    func retain(_ object: StoredObject, _ known: KnownObject) throws(StorageError) {
        try run(Self.retainObject, known.row, object.modified, object.fileExtension, object.size)
        // The row may have had another size than the file that is in place now.
        tally.stored = tally.stored.adding(saturating: object.size.subtracting(saturating: known.size))
    }

    /// Returns the present or future row of a key, and the entry in it. If other keys occupy all its places, the first
    /// is replaced.
    private func place(for key: EntryKey) throws(StorageError) -> (row: Int64, old: PresentEntry?) {
        let statement = try statement(Self.rowsByKey)
        defer { statement.reset() }
        key.id.bind(to: statement, at: 1)
        var free = key.id
        var first: PresentEntry?
        while try statement.step() {
            let (row, object) = (statement.int64(0), statement.int64(3))
            if statement.text(1) == key.key, statement.text(2) == key.identifier {
                return (row, (row, object, isSame: true))
            }
            if row == key.id { first = (row, object, isSame: false) }
            // Rows come in ascending order.
            if row == free { free += 1 }
        }
        return free < key.id + EntryKey.probes ? (free, nil) : (key.id, first)
    }

    /// An entry in the row that another one is going to take, and whether it has the same key.
    private typealias PresentEntry = (row: Int64, object: Int64, isSame: Bool)
}

/// An object without references.
struct UnusedObject {
    let row: Int64
    /// The object; nil if kf cannot have written the row, which then names no file.
    let object: StoredObject?
}

/// The present or future row of an object.
struct ObjectPlace {
    let row: Int64
    /// The present object; nil if there was none.
    var known: KnownObject?
}

struct KnownObject {
    let row: Int64
    /// The extension of its file; nil if the row's is invalid.
    let fileExtension: ObjectExtension?
    let size: Int64
    let modified: Int64
}

extension Connection {
    /// Writes access times in one transaction.
    func write(_ touches: [Int64: Touch]) throws(StorageError) {
        // Access times need not wait for the disk. The log is kept short, because the next process reads all of it.
        try execute("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 250")
        try transaction { () throws(StorageError) in
            for (row, touch) in touches {
                try self.touch(row: row, accessed: touch.accessed, expires: touch.expires)
            }
        }
    }
}
