import Glibc

/// Carries out stores inside a transaction of the `IndexWriter`.
struct StoreDesk {
    let connection: Connection
    let directory: CacheDirectory
    /// Whether a store waits until its bytes and the file's name are on the disk.
    let synchronizes: Bool
    let mark: OwnMark

    /// Carries out one store. `published` gets each new object, whose file must be removed if the store or the commit
    /// fails.
    func carryOut(
        _ store: Store, at now: Timestamp, _ published: inout [StoredObject]
    ) throws(StorageError) -> Entry? {
        switch store {
        case .put(let put): try carryOut(put, now, &published)
        case .renew(let entries, let renewal): try renew(entries, renewal, now)
        case .keep(let entry, let key, let facts): try keep(entry, key, facts, now)
        }
    }

    /// Carries out the first stores of a run: as many as have bytes that are new to the cache, or one. Returns their
    /// entries.
    func carryOut(
        _ run: ArraySlice<NewImage>, _ published: inout [StoredObject]
    ) throws(StorageError) -> [Entry?] {
        var objects = try connection.claim(run)
        if objects.isEmpty, let first = run.first { return [try carryOut(first.put, first.time, &published)] }
        for (place, image) in zip(objects.indices, run) {
            objects[place] = try publish(image.put, objects[place], inPlaceOf: nil, &published)
        }
        // Synchronizing a file's bytes does not put its name on the disk.
        if synchronizes { for object in objects { try directory.objects.synchronizeFolder(of: object) } }
        let rows = objects.map { EntryKey.place($0.digest) }
        let (entries, unused) = try connection.put(run.prefix(objects.count), objects, rows)
        for object in unused { try connection.remove(object, from: directory) }
        return entries
    }

    private func carryOut(
        _ put: Store.Put, _ now: Timestamp, _ published: inout [StoredObject]
    ) throws(StorageError) -> Entry? {
        let past = put.facts.past
        if let past, let own = try connection.entry(put.key), own.created >= past.created { return nil }
        let original = put.facts.original
        let other = try connection.otherOriginal(of: put.key, madeFrom: original)
        // An image is only as good as its original. The newer of two originals counts; a clock that was set back makes
        // none newer.
        if let other {
            guard let arrival = put.facts.arrival, other.created <= arrival.time || other.created > now else {
                return nil
            }
        }
        guard let content = try put.staged?.object(of: put) ?? put.object(modified: 0) else { return nil }
        let place = try connection.claim(content, isNew: put.staged != nil)
        let object: StoredObject
        if !put.facts.rewrites, let whole = wholeObject(content, place.known) {
            object = whole
            if synchronizes { try directory.objects.synchronize(object) }
        } else {
            object = try publish(put, content, inPlaceOf: place.known, &published)
        }
        if synchronizes { try directory.objects.synchronizeFolder(of: object) }
        if let known = place.known { try connection.retain(object, known) }
        let image = NewImage(put: mark.marked(put), time: now)
        var (entries, unused) = try connection.put([image], [object], [place.row])
        if let other, let original, put.facts.arrival?.isStored == false {
            unused += try connection.removeOriginal(row: other.row, of: put.key, replacedBy: original)
        }
        if let past, let row = entries[0]?.row, !past.tags.isEmpty { try connection.tag(row: row, past.tags) }
        unused += try connection.trimRepresentations(of: put.key)
        for object in unused { try connection.remove(object, from: directory) }
        return entries[0]
    }

    /// Returns the object of these bytes if the index and the disk have it. A rename over its file would cost ext4 a
    /// write to the disk at once.
    private func wholeObject(_ content: StoredObject, _ known: KnownObject?) -> StoredObject? {
        guard let known, known.size == content.size, let fileExtension = known.fileExtension else { return nil }
        let object = StoredObject(
            digest: content.digest, fileExtension: fileExtension, size: content.size, modified: known.modified,
            pixels: content.pixels)
        return directory.objects.isWhole(object) ? object : nil
    }

    /// Publishes an object that was claimed, or in place of one that is not whole.
    private func publish(
        _ put: Store.Put, _ content: StoredObject, inPlaceOf known: KnownObject?, _ published: inout [StoredObject]
    ) throws(StorageError) -> StoredObject {
        let object = try publish(put, content.digest, known?.fileExtension ?? content.fileExtension)
        guard known == nil else { return object }
        published.append(object)
        // Its file may have been written anew.
        if object.modified != content.modified { try connection.setModified(object.modified, object: object.digest) }
        return object
    }

    private func publish(
        _ put: Store.Put, _ digest: Digest, _ fileExtension: ObjectExtension
    ) throws(StorageError) -> StoredObject {
        var bytes = put.bytes
        if let staged = put.staged {
            do throws(StorageError) {
                return try staged.publish(fileExtension: fileExtension, pixels: put.facts.pixels)
            } catch .system(_, _, ENOENT) {
                // The file was deleted with the directory, or was stored under another key and evicted.
                bytes = try staged.loadWritten()
            }
        }
        let staged = try directory.restoring { () throws(StorageError) in try StagedObject(directory, hashes: false) }
        try staged.write(all: bytes, digest, synchronize: synchronizes)
        return try staged.publish(fileExtension: fileExtension, pixels: put.facts.pixels)
    }

    private func renew(
        _ entries: [Entry], _ renewal: EntryRenewal, _ now: Timestamp
    ) throws(StorageError) -> Entry? {
        var first: Entry?
        for (index, entry) in entries.enumerated() {
            guard let current = try connection.entry(entry.key), current.object.hasSameContent(as: entry.object)
            else { continue }
            try connection.renew(row: current.row, mark.marked(renewal, of: current), now: now)
            if index == 0 { first = try connection.entry(entry.key) }
        }
        return first
    }

    private func keep(
        _ entry: Entry, _ key: EntryKey, _ facts: EntryFacts, _ now: Timestamp
    ) throws(StorageError) -> Entry? {
        guard let current = try connection.entry(entry.key), current.object.hasSameContent(as: entry.object),
            let known = try connection.object(entry.object.digest)
        else { return nil }
        try connection.retain(current.object, known)
        let put = mark.marked(Store.Put(current.object.digest, current.object.size, key, facts))
        let (kept, unused) = try connection.put([NewImage(put: put, time: now)], [current.object], [known.row])
        for object in unused { try connection.remove(object, from: directory) }
        return kept[0]
    }
}

/// The removal of entries with their files.
extension Connection {
    /// Removes an entry, and its object if no other entry uses it.
    func remove(row: Int64, from directory: CacheDirectory) throws(StorageError) {
        for unused in try removeEntry(row: row).unused { try remove(unused, from: directory) }
    }

    /// Removes an object's file, then its row. A crash between them leaves a row without a file, which the next read
    /// removes as a miss.
    func remove(_ unused: UnusedObject, from directory: CacheDirectory) throws(StorageError) {
        if let object = unused.object { try directory.objects.clear(object) }
        try forgetObject(row: unused.row)
    }
}
