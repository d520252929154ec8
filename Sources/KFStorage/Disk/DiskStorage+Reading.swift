import Glibc

extension DiskStorage {
    /// What the index says of a key, whether it is fresh or not. Changes nothing and counts nothing.
    package func entry(for key: EntryKey) throws(StorageError) -> Entry? {
        let entry = try session.reader.withLock { connection throws(StorageError) in try connection.entry(key) }
        return entry.map { current($0, at: now()) }
    }

    /// The fresh entries among `keys` whose files are there, in their order.
    package func freshEntries(for keys: [EntryKey]) throws(StorageError) -> [Entry?] {
        try lookUp(keys).map { found in
            if case .fresh(let entry) = found { return entry }
            return nil
        }
    }

    /// What there is for `keys`, in their order. One read transaction for 256 of them at a time, in the index's own order;
    /// then the files are looked at.
    package func lookUp(_ keys: [EntryKey]) throws(StorageError) -> [IndexedEntry] {
        var found = [IndexedEntry](repeating: .absent, count: keys.count)
        let now = now()
        var first = 0
        while first < keys.count {
            let page = first..<min(keys.count, first + Self.lookUpPage)
            try session.reader.withLock { connection throws(StorageError) in
                try connection.reading { () throws(StorageError) in
                    for index in page.sorted(by: { keys[$0].id < keys[$1].id }) {
                        guard let known = try connection.entry(keys[index]) else { continue }
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

    /// The original and everything that was made from it.
    package func variants(of key: EntryKey) throws(StorageError) -> [Entry] {
        let found = try session.reader.withLock { connection throws(StorageError) in
            try connection.variants(of: key)
        }
        return found.map(touched)
    }

    /// The object of an entry, open for reading, if it still is what was stored. Nil is a miss: the file is gone, or
    /// is something else; what is wrong with an entry is removed on the way.
    package func open(_ entry: Entry) throws(StorageError) -> FileDescriptor? {
        guard let file = try openObject(entry) else { return nil }
        let status = try file.status()
        guard Int64(status.st_size) == entry.object.size else {
            discard(entry)
            return nil
        }
        if configuration.verifies || status.modified != entry.object.modified {
            guard try digest(of: file) == entry.object.digest else {
                discard(entry)
                return nil
            }
            if status.modified != entry.object.modified { follow(entry, modified: status.modified) }
            guard lseek(file.raw, 0, SEEK_SET) == 0 else {
                throw .system(call: "lseek", path: file.path, errno: errno)
            }
        }
        return file
    }

    /// The object's file, for a person or another program.
    package func path(of entry: Entry) -> String { directory.objects.path(of: entry.object) }

    /// Sums over everything, from the totals that the index keeps.
    /// `exactly` counts the expired of the running hour too, however long that takes.
    package func totals(exactly: Bool = true) throws(StorageError) -> CacheTotals {
        let now = now()
        var totals = try session.reader.withLock { connection throws(StorageError) in
            try connection.totals(at: now, exactly: exactly)
        }
        if let lock = session.lock { totals.reads = try ReadCounts.read(from: lock) }
        totals.reads = totals.reads.adding(reads.withLock { $0.counts })
        return totals
    }

    private func openObject(_ entry: Entry) throws(StorageError) -> FileDescriptor? {
        do {
            return try directory.objects.open(entry.object)
        } catch .planted {
        } catch .system(_, _, let code) where code == ENOENT || code == ELOOP || code == ENOTDIR || code == ENXIO {
        }
        discard(entry)
        return nil
    }

    func digest(of file: borrowing FileDescriptor) throws(StorageError) -> Digest {
        var sha = SHA256()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 64)
        defer { buffer.deallocate() }
        while true {
            let count = try file.read(into: buffer)
            if count == 0 { return sha.finish() }
            sha.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    /// Removes the entry if it still is the one that was found wanting.
    private func discard(_ entry: Entry) {
        guard !isReadOnly else { return }
        let directory = session.directory
        writer.submit(urgent: false, optional: true) { connection throws(StorageError) in
            guard let current = try connection.entry(entry.key), current.object == entry.object else { return }
            try connection.remove(row: current.row, from: directory)
        } completion: { _ in
            // A miss is a miss, with the row or without; the next reader tries again.
        }
    }

    private func follow(_ entry: Entry, modified: Int64) {
        guard !isReadOnly else { return }
        writer.submit(urgent: false, optional: true) { connection throws(StorageError) in
            try connection.setModified(modified, object: entry.object.digest)
        } completion: { _ in
        }
    }
}

extension Entry {
    /// What is known of a file that belongs to no cache. It never expires, and stands in no index.
    package init(
        of key: EntryKey, fileOf bytes: UnsafeRawBufferPointer, modified: Int64, fileExtension: String,
        pixels: PixelFacts?, now: Timestamp
    ) {
        let object = StoredObject(
            digest: SHA256.hash(bytes), fileExtension: ObjectExtension(fileExtension) ?? .unknown,
            size: Int64(bytes.count), modified: modified, pixels: pixels)
        self.init(
            key: key, row: 0, object: object, original: nil, url: nil, etag: nil, lastModified: nil, freshness: nil,
            created: now, timeToLive: nil, extending: .none, accessed: now, expires: .distantFuture, hits: 0)
    }
}
