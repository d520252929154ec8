extension DiskStorage {
    /// A transaction that removes holds the lock no longer than this, so that writers beside it wait no longer.
    private static let slice: Duration = .milliseconds(20)
    /// Entries looked up at a time.
    private static let page = 1024

    /// What the filter says; `removing` nothing only counts.
    package func remove(matching filter: EntryFilter, dryRun: Bool = false) throws(StorageError) -> Removal {
        var removal = Removal()
        var last = Int64.min
        while true {
            let found = try page(of: filter, after: last)
            guard let end = found.last else { return removal }
            last = end.row
            if dryRun { found.forEach { removal.add($0) } } else { removal.add(try remove(entries: found)) }
        }
    }

    /// The original of a key and everything that was made from it; with an identifier, only what that made.
    package func removeVariants(
        of key: EntryKey, madeBy identifier: String? = nil, dryRun: Bool = false
    ) throws(StorageError) -> Removal {
        let found = try variants(of: key).filter { identifier == nil || $0.key.identifier == identifier }
        if !dryRun {
            if identifier == nil { try removePartial(for: key.original) }
            return try remove(entries: found)
        }
        var removal = Removal()
        found.forEach { removal.add($0) }
        return removal
    }

    /// Everything, whatever its age, and files that no entry knows.
    package func removeAll() throws(StorageError) -> Removal {
        let removal = try remove(matching: EntryFilter())
        let directory = session.directory
        try writer.perform { connection throws(StorageError) in
            // Others may have stored since.
            if try connection.storedSize() == 0 { directory.removeObjects() }
        }
        directory.reapPartials(now: .now(), keeping: 0)
        return removal
    }

    /// What is no longer fresh.
    package func removeExpired(dryRun: Bool = false) throws(StorageError) -> Removal {
        var filter = EntryFilter()
        filter.expiredAt = now()
        return try remove(matching: filter, dryRun: dryRun)
    }

    /// Removes until the objects take at most `bytes`: the expired first, then what was used longest ago.
    package func evict(to bytes: Int64, dryRun: Bool = false) throws(StorageError) -> Removal {
        var removal = Removal()
        var stored = try storedSize()
        var skipped = 0
        while stored > bytes {
            let candidates = try oldest(skipping: skipped)
            if candidates.isEmpty { break }
            if dryRun {
                // Objects that several entries share make this an estimate from above.
                for entry in candidates where stored > bytes {
                    removal.add(entry)
                    stored -= entry.object.size
                }
                skipped += candidates.count
            } else {
                removal.add(
                    try remove(entries: candidates) { connection throws(StorageError) in
                        try connection.storedSize() > bytes
                    })
                stored = try storedSize()
            }
        }
        return removal
    }

    /// After a store: when the limit is passed, down to half of it (Kingfisher's rule), so that the next stores need not
    /// evict. Interrupted bodies count, and may take a quarter of the limit.
    package func evictIfNeeded() throws(StorageError) -> Removal {
        let limit = configuration.sizeLimit
        guard limit > 0, !isReadOnly else { return Removal() }
        var partial = session.directory.reapPartials(now: .now())
        if try storedSize() + partial > limit {
            partial = session.directory.reapPartials(now: .now(), keeping: limit / 4)
        }
        session.partialBytes.store(partial, ordering: .relaxed)
        guard try storedSize() + partial > limit else { return Removal() }
        return try evict(to: max(0, limit / 2 - partial))
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

    private func remove(
        entries: [Entry], while condition: @escaping @Sendable (Connection) throws(StorageError) -> Bool = { _ in true }
    ) throws(StorageError) -> Removal {
        let directory = session.directory
        var removal = Removal()
        var next = 0
        while next < entries.count {
            let rest = entries[next...]
            let (part, end) = try writer.perform { connection throws(StorageError) in
                let start = ContinuousClock.now
                var part = Removal()
                for (index, entry) in zip(rest.indices, rest) {
                    guard try condition(connection) else { return (part, entries.count) }
                    guard start.duration(to: .now) < Self.slice else { return (part, index) }
                    // Another process may have removed it, or stored it anew, since the page was read.
                    guard let current = try connection.entry(entry.key), current.object == entry.object else {
                        continue
                    }
                    try Self.remove(row: current.row, connection, directory)
                    part.add(entry)
                }
                return (part, entries.count)
            }
            removal.add(part)
            next = end
        }
        return removal
    }

    private func page(of filter: EntryFilter, after row: Int64) throws(StorageError) -> [Entry] {
        try select("\(filter.condition) ORDER BY e.id LIMIT \(Self.page)") { filter.bind($0, after: row) }
    }

    private func oldest(skipping count: Int) throws(StorageError) -> [Entry] {
        let now = now()
        return try select("ORDER BY t.expires > ?1, t.accessed LIMIT \(Self.page) OFFSET \(count)") {
            $0.bind(1, now.milliseconds)
        }
    }

    private func select(
        _ condition: String, bind: @Sendable (Statement) -> Void
    ) throws(StorageError) -> [Entry] {
        try session.reader.withLock { connection throws(StorageError) in
            try connection.entries(condition, bind: bind)
        }
    }
}
