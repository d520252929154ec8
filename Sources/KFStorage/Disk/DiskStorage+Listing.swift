import Dispatch
import Glibc
import Synchronization

extension DiskStorage {
    /// More than this are not sought side by side, but streamed.
    private static let longLimit = 10_000

    /// Hands out what the query means, in its order and in bounded memory, however much that is. `body` says whether to
    /// go on.
    package func eachEntry(_ query: EntryQuery, _ body: @Sendable (Entry) -> Bool) throws(StorageError) {
        // Where that cannot be written, the list is as old as the index.
        _ = Result { () throws(StorageError) in try settleReads() }
        guard let limit = query.limit, limit <= Self.longLimit else {
            try session.reader.withLock { connection throws(StorageError) in try connection.eachEntry(query, body) }
            return
        }
        let rows = try firstRows(query).sorted(by: query.isBefore).prefix(limit)
        let entries = try session.reader.withLock { connection throws(StorageError) in
            var entries: [Entry] = []
            for rank in rows {
                if let entry = try connection.entry(row: rank.row) { entries.append(entry) }
            }
            return entries
        }
        for entry in entries where !body(entry) { return }
    }

    /// The first of each part of the index, a part for each processor: a scan of a million entries is shared.
    private func firstRows(_ query: EntryQuery) throws(StorageError) -> [RankedRow] {
        let large = try session.reader.withLock { connection throws(StorageError) in
            try connection.rankingOfLarge(query)
        }
        if let large { return large }
        let entries = try session.reader.withLock { connection throws(StorageError) in try connection.count() }
        let parts = entries < 50_000 ? 1 : max(1, min(8, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        guard parts > 1, !session.isReadOnly || session.lock != nil else {
            return try session.reader.withLock { connection throws(StorageError) in
                try connection.ranking(query, after: .min, through: .max)
            }
        }
        let directory = session.directory
        let step = UInt64.max / UInt64(parts)
        let results = Mutex<[Result<[RankedRow], StorageError>]>([])
        DispatchQueue.concurrentPerform(iterations: parts) { part in
            // Rows are spread evenly: they are numbered by hashes.
            let first = Int64.min &+ Int64(bitPattern: UInt64(part) &* step)
            let last = part == parts - 1 ? .max : first &+ Int64(bitPattern: step)
            let found = Result { () throws(StorageError) in
                try IndexSession.open(directory, writable: false).ranking(query, after: first, through: last)
            }
            results.withLock { $0.append(found) }
        }
        var rows: [RankedRow] = []
        for result in results.withLock({ $0 }) { rows += try result.get() }
        return rows
    }
}
