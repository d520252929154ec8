import Dispatch
import Glibc
import KFSystem
import Synchronization

extension DiskStorage {
    /// The largest limit for which the index is searched in parallel. Longer lists are streamed.
    private static let longLimit = 10_000

    /// Calls `body` with each entry that matches the query, in its order and with bounded memory. A false from `body`
    /// ends the listing.
    package func eachEntry(_ query: EntryQuery, _ body: @Sendable (Entry) -> Bool) throws(StorageError) {
        // If the access times cannot be written, the list shows those in the index.
        bestEffort(settleReads)
        guard let limit = query.limit, limit <= Self.longLimit else {
            try read { connection throws(StorageError) in try connection.eachEntry(query, body) }
            return
        }
        let rows = try firstRows(query).sorted(by: query.isBefore).prefix(limit)
        for entry in try entries(rows: rows.map(\.row)) where !body(entry) { return }
    }

    /// Returns the rows of the entries that match a filter, for `entries(rows:)`: 8 bytes an entry.
    package func rows(_ filter: EntryFilter) throws(StorageError) -> [Int64] {
        var query = EntryQuery()
        (query.filter, query.order) = (filter, .used)
        let prepared = query
        return try read { connection throws(StorageError) in
            try connection.ranking(prepared, after: .min, through: .max).map(\.row)
        }
    }

    /// Returns the entries of rows, without those that were removed meanwhile.
    package func entries(rows: some Sequence<Int64>) throws(StorageError) -> [Entry] {
        try read { connection throws(StorageError) in
            var entries: [Entry] = []
            for row in rows {
                if let entry = try connection.taggedEntry(row: row) { entries.append(entry) }
            }
            return entries
        }
    }

    /// Calls `body` with the entries whose identifiers end in steps of this GLOB pattern, in the order of their rows.
    package func eachEntry(identifierEnd: String, _ body: @Sendable (Entry) -> Void) throws(StorageError) {
        var filter = EntryFilter()
        filter.identifierEnd = identifierEnd
        try read { connection throws(StorageError) in try connection.eachEntry(matching: filter, body) }
    }

    /// Returns all entries of the source that the entry of a row has; none when that has left.
    package func variants(ofRow row: Int64) throws(StorageError) -> [Entry] {
        try read { connection throws(StorageError) in
            try connection.reading { () throws(StorageError) in
                guard let entry = try connection.entry(row: row) else { return [] }
                return try connection.variants(of: entry.key)
            }
        }
    }

    /// Returns the first rows of the query. The index is split into one part a processor, so that a scan of a million
    /// entries is shared.
    private func firstRows(_ query: EntryQuery) throws(StorageError) -> [RankedRow] {
        let large = try read { connection throws(StorageError) in try connection.rankingOfLarge(query) }
        if let large { return large }
        let entries = try read { connection throws(StorageError) in try connection.count() }
        let parts = entries < 50_000 ? 1 : max(1, min(8, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        guard parts > 1, !session.isReadOnly || session.lock != nil else {
            return try read { connection throws(StorageError) in
                try connection.ranking(query, after: .min, through: .max)
            }
        }
        let (directory, ranges) = (session.directory, Connection.parts(parts))
        let results = Mutex<[Result<[RankedRow], StorageError>]>([])
        DispatchQueue.concurrentPerform(iterations: parts) { part in
            let (before, last) = (ranges[part].lowerBound.subtracting(saturating: 1), ranges[part].upperBound)
            let found = Result { () throws(StorageError) in
                try IndexSession.open(directory, writable: false).ranking(query, after: before, through: last)
            }
            results.withLock { $0.append(found) }
        }
        var rows: [RankedRow] = []
        for result in results.withLock({ $0 }) { rows += try result.get() }
        return rows
    }
}

extension DiskStorage {
    /// Returns entries by age: under an hour, a day, a week, 30 days, and older. Not `exactly`, the figures come from hourly
    /// sums, and each boundary is accurate to half an hour.
    package func ages(exactly: Bool) throws(StorageError) -> [CacheShare] {
        let now = now()
        return try read { connection throws(StorageError) in try connection.ages(at: now, exactly: exactly) }
    }

    /// Returns the disk space of all objects in bytes, in whole blocks of the file system, without folders and the
    /// index. Reads every object's row.
    package func allocatedSize() throws(StorageError) -> Int64 {
        var system = statvfs()
        try retry("fstatvfs", path) { fstatvfs(session.directory.version.raw, &system) }
        let block = Int64(max(1, system.f_frsize))
        return try read { connection throws(StorageError) in try connection.allocatedSize(block: block) }
    }

    /// Sets the counts of hits and misses to zero.
    package func resetCounts() throws(StorageError) {
        guard !isReadOnly, let lock = session.lock else { throw .readOnly(path: path) }
        let now = now()
        reads.withLock { $0.counts = ReadCounts() }
        let writing = try session.writeLock()
        try writing.acquire()
        defer { writing.release() }
        try ReadCounts.reset(in: lock, at: now)
    }
}

extension DiskStorage {
    /// Checks every row and every file, and reports each finding at once. Other processes can use the cache meanwhile.
    /// Memory stays bounded, however many findings there are. With `repairs`, removes damaged entries and corrects
    /// counts. A filter limits the check to entries and their files.
    ///
    /// Throws `corruptIndex` when SQLite itself cannot continue, and `readOnly` when `repairs` is set and nothing can
    /// be written.
    package func verify(
        _ filter: EntryFilter = EntryFilter(), repairs: Bool, report: @escaping (CacheFinding) -> Void
    ) throws(StorageError) -> Verification {
        if repairs, isReadOnly { throw .readOnly(path: path) }
        let verifier = try Verifier(self, repairs: repairs, report: report)
        return filter.selectsAll ? try verifier.run() : try verifier.run(filter)
    }
}
