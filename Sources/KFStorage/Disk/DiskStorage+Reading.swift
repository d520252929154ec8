import Glibc

extension DiskStorage {
    /// Returns the entry of a key, fresh or expired. Changes nothing and does not count as a read.
    package func entry(for key: EntryKey) throws(StorageError) -> Entry? {
        let entry = try read { connection throws(StorageError) in try connection.entry(key) }
        return entry.map { current($0, at: now()) }
    }

    /// Returns the state of each key, in the order of `keys`. One read transaction covers 256 keys, in the index's own
    /// order; then the files are checked. Without `withTexts`, entries lack the URL, the validators and the header lines of
    /// the response, which take a tenth of a look-up to read.
    package func lookUp(_ keys: [EntryKey], withTexts: Bool = true) throws(StorageError) -> [IndexedEntry] {
        var found = [IndexedEntry](repeating: .absent, count: keys.count)
        let now = now()
        var first = 0
        while first < keys.count {
            let page = first..<min(keys.count, first + Self.lookUpPage)
            let order = page.sorted { keys[$0].id < keys[$1].id }
            try read { connection throws(StorageError) in
                try connection.reading { () throws(StorageError) in
                    try connection.entries(keys, order, withTexts: withTexts) { index, known in
                        let entry = current(known, at: now)
                        found[index] = entry.isExpired(at: now) ? .unusable : .fresh(entry)
                    }
                }
            }
            first = page.upperBound
        }
        keepWhole(&found)
        return found
    }

    private static let lookUpPage = 256

    /// Returns whether there is an entry of this format, fresh or expired.
    package func hasEntries(ofFormat format: String) throws(StorageError) -> Bool {
        try session.reader.withLock { connection throws(StorageError) in
            try connection.formats().contains { $0.name == format }
        }
    }

    /// Returns the original of a key and all images made from it.
    package func variants(of key: EntryKey) throws(StorageError) -> [Entry] {
        let found = try read { connection throws(StorageError) in try connection.variants(of: key) }
        return found.map(touched)
    }

    /// Opens the object of an entry for reading. Nil is a miss: the file is missing or has other content. A damaged
    /// entry is removed.
    package func open(_ entry: Entry) throws(StorageError) -> FileDescriptor? {
        var status = stat()
        guard let file = try openObject(entry, &status) else { return nil }
        guard Int64(status.st_size) == entry.object.size else {
            discard(entry)
            return nil
        }
        if configuration.verifies || status.modified != entry.object.modified {
            guard try file.digest(from: 0) == entry.object.digest else {
                discard(entry)
                return nil
            }
            if status.modified != entry.object.modified { follow(entry, modified: status.modified) }
        }
        return file
    }

    /// Returns whether the index still has the entry with its object, whose file is there. Between the removal of the file
    /// and that of the entry, it has not.
    package func holds(_ entry: Entry) throws(StorageError) -> Bool {
        let found = try self.entry(for: entry.key)
        return found?.object.digest == entry.object.digest && directory.objects.exists(entry.object)
    }

    /// Opens the object with this digest, whichever entries use it; nil when there is none. The caller verifies its
    /// bytes.
    package func openObject(_ digest: Digest) throws(StorageError) -> FileDescriptor? {
        let known = try read { connection throws(StorageError) in try connection.object(digest) }
        guard let known, let fileExtension = known.fileExtension else { return nil }
        let object = StoredObject(
            digest: digest, fileExtension: fileExtension, size: known.size, modified: 0, pixels: nil)
        // A file that cannot be read is as good as none.
        return bestEffort { try directory.objects.open(object) }
    }

    /// Returns the path of the object's file, for display or for another program.
    package func path(of entry: Entry) -> String { directory.objects.path(of: entry.object) }

    /// Returns the totals that the index keeps. Without `exactly`, an index of more than 65,536 entries skips those
    /// that expired in the current hour (`isExpiredExact` is false).
    package func totals(exactly: Bool = true) throws(StorageError) -> CacheTotals {
        let now = now()
        var totals = try read { connection throws(StorageError) in try connection.totals(at: now, exactly: exactly) }
        if let lock = session.lock { totals.reads = try ReadCounts.read(from: lock) }
        totals.reads = totals.reads.adding(reads.withLock { $0.counts })
        return totals
    }

    private func openObject(_ entry: Entry, _ status: inout stat) throws(StorageError) -> FileDescriptor? {
        do {
            return try directory.objects.open(entry.object, &status)
        } catch .planted {
        } catch let error where error.isAbsence {
        } catch .system(_, _, ENXIO) {
        } catch {
            // The next store of the same bytes replaces a file that cannot be read.
            distrust(entry.object.digest)
            throw error
        }
        discard(entry)
        return nil
    }

    /// Removes a damaged entry, unless it was replaced meanwhile.
    private func discard(_ entry: Entry) {
        // A store that replaces an entry removes its file first.
        writer.awaitTransaction()
        guard !isReadOnly else { return }
        let directory = session.directory
        // An entry that has gone meanwhile was removed for another reason.
        let current = bestEffort { try self.entry(for: entry.key) } ?? nil
        if current?.object == entry.object { noteRemoval(of: entry.row, .damaged) }
        writer.submit(optional: true) { connection throws(StorageError) in
            guard let current = try connection.entry(entry.key), current.object == entry.object else { return }
            try connection.remove(row: current.row, from: directory)
            // A failure changes nothing: the read is a miss with or without the row, and the next reader tries again.
        }
    }

    /// Notes that the bytes of an object are damaged although its file has the right size and time. Readers then hash
    /// the file, and the next store of the same bytes writes it anew.
    package func distrust(_ digest: Digest) {
        guard !isReadOnly else { return }
        writer.submit { connection throws(StorageError) in
            try connection.setModified(.min, object: digest)
            // A failure leaves the file as it was, and the next reader finds the damage again.
        }
    }

    private func follow(_ entry: Entry, modified: Int64) {
        guard !isReadOnly else { return }
        writer.submit(optional: true) { connection throws(StorageError) in
            try connection.setModified(modified, object: entry.object.digest)
        }
    }
}

extension Entry {
    /// Describes a file that belongs to no cache. The entry never expires and is in no index.
    package convenience init(
        of key: EntryKey, fileOf bytes: UnsafeRawBufferPointer, modified: Int64, fileExtension: String,
        pixels: PixelFacts?, now: Timestamp
    ) {
        let object = StoredObject(
            digest: SHA256.hash(bytes), fileExtension: ObjectExtension(naming: fileExtension),
            size: Int64(bytes.count), modified: modified, pixels: pixels)
        self.init(
            key: key, row: 0, object: object, original: nil, url: nil, etag: nil, lastModified: nil, freshness: nil,
            created: now, timeToLive: nil, extending: .none, accessed: now, expires: .distantFuture, hits: 0)
    }
}
