import Glibc

/// What happens to a damaged index: when nobody uses it, a new one is built from what can be read of it, and takes its
/// place. The objects stay where they are: paths of them have been handed out.
enum BrokenIndex {
    struct Replacement {
        /// Where the damaged one went.
        let aside: String
        /// Entries of the new one.
        let kept: Int
    }

    /// `isDamaged` is asked when nobody uses the index any more: by then another process may have put it right, and
    /// there is nothing to do (nil).
    static func replace(
        _ directory: CacheDirectory, if isDamaged: (CacheDirectory) throws(StorageError) -> Bool
    ) throws(StorageError) -> Replacement? {
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
        return Replacement(aside: directory.index + suffix, kept: kept)
    }

    /// Whether SQLite cannot open it, or finds fault with any part of it: what the first pages say may come from the log
    /// and hide that the rest is gone.
    static func isMalformed(_ directory: CacheDirectory) throws(StorageError) -> Bool {
        do {
            return try !IndexSession.open(directory, writable: true).complaints().isEmpty
        } catch .corruptIndex {
            return true
        }
    }

    private static let mark = ".broken-"

    private static func setAside(_ directory: CacheDirectory, _ suffix: String) throws(StorageError) {
        // The last one is enough to look into.
        for name in directory.ownNames where name.hasPrefix("index.sqlite") && name.contains(mark) {
            directory.removeTree(name)
        }
        // The index last: until it has gone, the next one goes on where this one was killed.
        for name in CacheDirectory.indexFiles.reversed() {
            do {
                try directory.move(name, to: name + suffix)
            } catch .system(_, _, ENOENT) {
                // Of the four, only the index need be there.
            }
        }
    }

    /// The rows are numbered by hashes. Of each such part of them, those behind an unreadable page are lost.
    private static let parts: UInt64 = 1024

    /// Takes over the entries that are sound and whose files are there. An index that is not kf's to the word is not read.
    private static func salvage(_ directory: CacheDirectory, into new: Connection) throws(StorageError) -> Int {
        let damaged: Connection
        do throws(StorageError) {
            damaged = try IndexSession.open(directory, writable: true)
        } catch .corruptIndex {
            return 0
        }
        let span = UInt64.max / parts + 1
        try new.transaction { () throws(StorageError) in
            for part in 0..<parts {
                let first = Int64.min &+ Int64(bitPattern: part * span)
                for found in try damaged.wholeEntries(from: first, through: first + Int64(span - 1)) {
                    guard directory.objects.size(of: found.entry.object) == found.entry.object.size else { continue }
                    try new.adopt(found.entry, host: found.host, format: found.format)
                }
            }
        }
        return try new.count()
    }

    /// Others may still read the broken index; who stays longer than this keeps it in place.
    private static func waitForUsers(_ lock: FileLock, _ directory: CacheDirectory) throws(StorageError) {
        // Users hold their lock as long as they run: there is no queue to be fair in.
        let start = ContinuousClock.now
        repeat {
            if try lock.tryAcquire(.exclusive, byte: IndexSession.LockByte.users) { return }
            usleep(20_000)
        } while directory.patience.deadline(from: start) > .now
        throw .corruptIndex(path: directory.index, detail: "other processes still have it open; end them and try again")
    }
}
