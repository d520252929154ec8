import Glibc
import KFSystem

/// The replacement of a damaged index. Once no process uses it, a new index is built from the readable entries and
/// takes its place. The objects stay where they are, because callers hold their paths.
enum BrokenIndex {
    /// Replaces the index, once no process uses it any more. `isDamaged` runs only then, because another process may
    /// have repaired the index meanwhile. Returns the path to which the damaged index was moved, and the number of entries
    /// in the new one; nil when there was nothing to do.
    static func replace(
        _ directory: CacheDirectory, if isDamaged: (CacheDirectory) throws(StorageError) -> Bool
    ) throws(StorageError) -> (aside: String, kept: Int)? {
        let lock = FileLock(try directory.openFile("lock", O_RDWR | O_CREAT, mode: 0o600))
        try waitForUsers(lock, directory)
        defer { lock.release(byte: IndexSession.LockByte.users) }
        guard directory.exists(CacheDirectory.indexFiles[0]), try isDamaged(directory) else { return nil }
        try directory.restore()
        let suffix = "\(mark)\(Timestamp.now().milliseconds)"
        var kept = 0
        try IndexSession.build(directory) { new throws(StorageError) in
            kept = try salvage(directory, into: new)
        } place: { name throws(StorageError) in
            try setAside(directory, suffix)
            try directory.link(name, to: CacheDirectory.indexFiles[0])
        }
        return (directory.index + suffix, kept)
    }

    /// Returns whether SQLite cannot open the index or finds damage in any part of it. The first pages alone prove
    /// nothing: they may come from the write-ahead log and hide that the rest is lost.
    static func isMalformed(_ directory: CacheDirectory) throws(StorageError) -> Bool {
        do {
            return try !IndexSession.open(directory, writable: true).complaints().isEmpty
        } catch .corruptIndex {
            return true
        }
    }

    private static let mark = ".broken-"

    private static func setAside(_ directory: CacheDirectory, _ suffix: String) throws(StorageError) {
        // Only the latest damaged index is kept for inspection.
        for name in directory.ownNames where name.hasPrefix("index.sqlite") && name.contains(mark) {
            directory.removeTree(name)
        }
        // The index moves last. If this process is killed before that, the next one continues here.
        for name in CacheDirectory.indexFiles.reversed() {
            do {
                try directory.move(name, to: name + suffix)
            } catch .system(_, _, ENOENT) {
                // Only the index must exist; the other three files need not.
            }
        }
    }

    /// The number of parts in which rows are read. In each part, the rows after an unreadable page are lost.
    private static let parts = 1024

    /// Copies the entries that are undamaged and whose files exist. An index whose schema differs from kf's in any way
    /// is not read.
    private static func salvage(_ directory: CacheDirectory, into new: Connection) throws(StorageError) -> Int {
        let damaged: Connection
        do throws(StorageError) {
            damaged = try IndexSession.open(directory, writable: true)
        } catch .corruptIndex {
            return 0
        }
        try new.transaction { () throws(StorageError) in
            for part in Connection.parts(parts) {
                for found in try damaged.wholeEntries(part) {
                    guard directory.objects.isThere(found.entry.object, { $0.pointee.isRegularFile }) else { continue }
                    try new.adopt(found.entry, host: found.host, format: found.format)
                    // A damaged table of tags costs the tags only.
                    let tags = bestEffort { try damaged.tags(row: found.entry.row) } ?? []
                    if !tags.isEmpty { try new.tag(row: found.entry.row, tags) }
                }
            }
        }
        return try new.count()
    }

    /// Waits until no other process has the damaged index open. Throws `corruptIndex` when a process keeps it open
    /// longer than the lock limit.
    private static func waitForUsers(_ lock: FileLock, _ directory: CacheDirectory) throws(StorageError) {
        // Polling is enough. Processes hold this lock as long as they run, so no queue needs fairness.
        let start = ContinuousClock.now
        repeat {
            if try lock.tryAcquire(.exclusive, byte: IndexSession.LockByte.users) { return }
            usleep(20_000)
        } while directory.patience.deadline(from: start) > .now
        throw .corruptIndex(path: directory.index, detail: "other processes still have it open; end them and try again")
    }
}
