extension DiskStorage {
    /// Entries looked up at a time.
    private static let page = 1 << 16

    /// What the filter says; with `dryRun`, only counts it. Here and below `note` is told each entry that goes, or would.
    package func remove(
        matching filter: EntryFilter, dryRun: Bool = false, _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        var removal = Removal()
        var last = Int64.min
        if filter.needsTimes { try settleReads() }
        let reader = try session.makeReader()
        while true {
            let found = try reader.victims(filter, after: last, count: Self.page)
            guard let end = found.last else { return removal }
            last = end.row
            if dryRun {
                removal.add(try Self.sum(found, reader, note))
            } else {
                removal.add(try bulkRemoval(sparesUsed: false).remove(found, note).removal)
            }
        }
    }

    func bulkRemoval(sparesUsed: Bool) -> BulkRemoval {
        BulkRemoval(writer: writer, directory: session.directory, sparesUsed: sparesUsed)
    }

    static func sum(
        _ victims: some Sequence<Victim>, _ reader: Connection, _ note: ((EntryName) -> Void)?
    ) throws(StorageError) -> Removal {
        var removal = Removal()
        for victim in victims {
            removal.add(entries: 1, bytes: victim.size)
            if let note, let name = try reader.name(row: victim.row) { note(name) }
        }
        return removal
    }

    /// The original of a key, with its partial body, and everything that was made from it; with an identifier, only what
    /// that made.
    package func removeVariants(
        of key: EntryKey, madeBy identifier: String? = nil, dryRun: Bool = false,
        _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        let found = try variants(of: key).filter { identifier == nil || $0.key.chain == identifier }
        var removal = Removal()
        if identifier == nil { removal.add(try removePartial(for: key.source, dryRun: dryRun)) }
        if !dryRun {
            removal.add(try remove(entries: found, note))
            return removal
        }
        for entry in found {
            removal.add(entry)
            note?(EntryName(entry.key))
        }
        return removal
    }

    /// Everything, whatever its age, partial bodies and files that no entry knows.
    package func removeAll(
        dryRun: Bool = false, _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        var removal = try remove(matching: EntryFilter(), dryRun: dryRun, note)
        let directory = session.directory
        removal.add(directory.reapPartials(now: .now(), keeping: 0, dryRun: dryRun).removed)
        if dryRun { return removal }
        try writer.perform { connection throws(StorageError) in
            // Others may have stored since.
            if try connection.storedSize() == 0 { directory.removeObjects() }
        }
        return removal
    }

    /// What is no longer fresh, and partial bodies that are too old to be resumed.
    package func removeExpired(
        dryRun: Bool = false, _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        var filter = EntryFilter()
        filter.expiredAt = now()
        var removal = try remove(matching: filter, dryRun: dryRun, note)
        removal.add(session.directory.reapPartials(now: .now(), dryRun: dryRun).removed)
        return removal
    }

    /// Bytes of all objects.
    package func storedSize() throws(StorageError) -> Int64 {
        try session.reader.withLock { connection throws(StorageError) in try connection.storedSize() }
    }

    /// By host and by format, the largest first.
    package func shares() throws(StorageError) -> (hosts: [CacheShare], formats: [CacheShare]) {
        try session.reader.withLock { connection throws(StorageError) in
            (try connection.hosts(), try connection.formats())
        }
    }

    /// Removes these few, each only if it still is what it was.
    package func remove(
        entries: [Entry], _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        guard !entries.isEmpty else { return Removal() }
        let directory = session.directory
        let gone = try writer.perform { connection throws(StorageError) in
            var gone: [Entry] = []
            for entry in entries {
                // Another process may have removed it, or stored it anew, since it was read.
                guard let current = try connection.entry(entry.key), current.object.hasSameContent(as: entry.object)
                else { continue }
                try connection.remove(row: current.row, from: directory)
                gone.append(entry)
            }
            return gone
        }
        var removal = Removal()
        for entry in gone {
            removal.add(entry)
            note?(EntryName(entry.key))
        }
        return removal
    }
}
