import CSystem
import Glibc

extension IndexSession {
    /// Makes an empty index where there is none. Of several processes that do so, one is first.
    static func create(_ directory: CacheDirectory) throws(StorageError) {
        // Another process may be between making `v1` and what is in it.
        try directory.restore()
        try build(directory) { _ in
        } place: { name throws(StorageError) in
            let lock = try openWriteLock(directory)
            try lock.acquire()
            defer { lock.release() }
            // Where there is one, its log may be in use.
            if directory.hasIndex { return }
            // SQLite would replay the log of the index that is gone over the new one.
            for log in CacheDirectory.indexFiles.dropFirst() { try directory.clear(log) }
            try directory.link(name, to: CacheDirectory.indexFiles[0])
        }
    }

    /// Builds an index aside, so that nobody ever sees half of one, fills it, and hands out its name below `v1`.
    static func build(
        _ directory: CacheDirectory, filling: (Connection) throws(StorageError) -> Void,
        place: (String) throws(StorageError) -> Void
    ) throws(StorageError) {
        let name = "tmp/index-\(getpid())-\(UInt64.random(in: 0 ... .max)).sqlite"
        defer {
            for suffix in ["", "-wal", "-shm", "-journal"] { directory.unlink(name + suffix) }
        }
        try write(directory.path(name), withLog: !directory.isOnNetwork, filling)
        // SQLite has closed it: its locks on the file cannot be lost by closing this.
        try directory.openFile(name, O_RDWR).synchronize()
        try place(name)
    }

    /// Nobody else has the file, and a crash leaves it to the sweep of `tmp`: it needs no journal on the disk, and is
    /// waited for once, before it gets its name (a statement at a time it was waited for 54 times).
    private static func write(
        _ path: String, withLog: Bool, _ fill: (Connection) throws(StorageError) -> Void
    ) throws(StorageError) {
        let connection = try Connection(path: path, mode: .create)
        try connection.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
        try connection.execute("BEGIN; \(Schema.creation) COMMIT")
        try fill(connection)
        if withLog { try connection.execute("PRAGMA journal_mode = WAL") }
    }
}
