import Glibc

/// What happens to an index that SQLite cannot read: it is moved aside, with its objects, when nobody uses it.
enum BrokenIndex {
    /// Gives back where the index went, or nil if by now another process has put it right.
    static func setAside(_ directory: CacheDirectory) throws(StorageError) -> String? {
        let lock = FileLock(try directory.openFile("lock", O_RDWR | O_CREAT, mode: 0o600))
        try waitForUsers(lock, directory)
        guard try isBroken(directory) else { return nil }
        let suffix = ".broken-\(Timestamp.now().milliseconds)"
        // The index last: until it has gone, the next one goes on where this one was killed.
        for name in CacheDirectory.indexFiles.reversed() {
            do {
                try directory.move(name, to: name + suffix)
            } catch .system(_, _, ENOENT) {
                // Of the four, only the index need be there.
            }
        }
        // No entry says what these files are any more.
        let aside = CacheDirectory.aside()
        do {
            try directory.move("objects", to: aside)
        } catch .system(_, _, ENOENT) {
            // Deleted from outside.
        }
        try directory.makeDirectory("objects")
        directory.removeTree(aside)
        return directory.index + suffix
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

    /// Reads all of the index: what the first pages say may come from the log and hide that the rest is gone.
    private static func isBroken(_ directory: CacheDirectory) throws(StorageError) -> Bool {
        guard directory.hasIndex else { return false }
        do {
            return try IndexSession.open(directory, writable: true).quickCheck() != "ok"
        } catch .corruptIndex {
            return true
        }
    }
}
