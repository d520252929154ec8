import Glibc
import KFSystem

extension DiskStorage {
    /// Entries by age: under an hour, a day, a week, 30 days, and older. From the sums by hour, so that the edges are an
    /// hour wide.
    package func ages() throws(StorageError) -> [CacheShare] {
        let steps: [(name: String, hours: Int64)] = [
            ("1h", 1), ("1d", 24), ("7d", 168), ("30d", 720), ("older", .max),
        ]
        var entries = [Int](repeating: 0, count: steps.count)
        var bytes = [Int64](repeating: 0, count: steps.count)
        let now = now().milliseconds / Tally.hour
        let hours = try session.reader.withLock { connection throws(StorageError) in try connection.ages() }
        for hour in hours {
            // What a clock that was wrong has put into the future is young.
            let step = steps.firstIndex { max(0, now.subtracting(saturating: hour.hour)) < $0.hours } ?? steps.count - 1
            entries[step] = entries[step].adding(saturating: hour.entries)
            bytes[step] = bytes[step].adding(saturating: hour.bytes)
        }
        return steps.indices.map { CacheShare(name: steps[$0].name, entries: entries[$0], bytes: bytes[$0]) }
    }

    /// What the objects take on the disk, in whole blocks of its file system; folders and the index are not in it. Reads
    /// all objects' rows.
    package func allocatedSize() throws(StorageError) -> Int64 {
        var system = statvfs()
        try retry("fstatvfs", path) { fstatvfs(session.directory.version.raw, &system) }
        let block = Int64(max(1, system.f_frsize))
        return try session.reader.withLock { connection throws(StorageError) in
            try connection.allocatedSize(block: block)
        }
    }

    /// Hits and misses are counted from now on.
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
