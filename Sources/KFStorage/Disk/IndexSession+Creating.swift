import CSystem
import Glibc

extension IndexSession {
    /// Builds an empty index aside and links it into place, so that nobody ever sees half of one. Who comes second
    /// keeps the first one's.
    static func create(_ directory: CacheDirectory) throws(StorageError) {
        // Another process may be between making `v1` and what is in it.
        try directory.restore()
        let name = "tmp/index-\(getpid())-\(UInt64.random(in: 0 ... .max)).sqlite"
        let path = directory.path(name)
        defer {
            for suffix in ["", "-wal", "-shm", "-journal"] { directory.unlink(name + suffix) }
        }
        try build(path, withLog: !directory.isOnNetwork)
        // SQLite has closed it: its locks on the file cannot be lost by closing this.
        try directory.openFile(name, O_RDWR).synchronize()
        do {
            try directory.link(name, to: "index.sqlite")
        } catch .system(_, _, EEXIST) {
            // Another process was first.
        }
    }

    /// Nobody else has the file, and a crash leaves it to the sweep of `tmp`: it needs no journal on the disk, and is
    /// waited for once, before it gets its name (a statement at a time it was waited for 54 times).
    private static func build(_ path: String, withLog: Bool) throws(StorageError) {
        let connection = try Connection(path: path, mode: .create)
        try connection.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
        try connection.execute("BEGIN; \(Schema.creation) COMMIT")
        if withLog { try connection.execute("PRAGMA journal_mode = WAL") }
    }
}
