import Glibc

/// A private copy of an index whose log cannot be read where it lies: nobody may write there, and the shared memory that
/// readers of a log need is missing.
enum IndexCopy {
    private static let attempts = 5

    /// A connection to a copy that is gone from its directory already: it ends with the connection.
    static func open(_ directory: CacheDirectory) throws(StorageError) -> sending Connection {
        let folder = try makeFolder()
        let path = "\(folder)/index.sqlite"
        defer {
            for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
            rmdir(folder)
        }
        try copyBoth(directory, path)
        let connection = try Connection(path: path, mode: .readWrite, patience: directory.patience)
        // Takes the log in and leaves that mode: then the one open file is all there is.
        try connection.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF")
        try connection.execute("PRAGMA journal_mode = MEMORY; PRAGMA query_only = ON")
        return connection
    }

    /// The two belong together as long as nobody moved the log's pages into the index between the one and the other.
    private static func copyBoth(_ directory: CacheDirectory, _ path: String) throws(StorageError) {
        for _ in 0..<attempts {
            let before = try State(directory)
            try copy(directory, "index.sqlite", path)
            try copy(directory, "index.sqlite-wal", path + "-wal")
            if try State(directory) == before { return }
        }
        throw .readOnly(path: directory.root)
    }

    struct State: Equatable {
        let modified: Int64
        let size: off_t
        /// The log's header, which has another salt each time the log is begun anew.
        let log: [UInt8]

        init(_ directory: CacheDirectory) throws(StorageError) {
            let status = try directory.openFile("index.sqlite", O_RDONLY).status()
            modified = status.modified
            size = status.st_size
            let header = try directory.openFile("index.sqlite-wal", O_RDONLY)
            var bytes = [UInt8](repeating: 0, count: 32)
            let count = bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(StorageError) in try header.read(into: buffer) }
            }
            log = Array(bytes.prefix(try count.get()))
        }
    }

    private static func copy(
        _ directory: CacheDirectory, _ source: String, _ target: String
    ) throws(StorageError) {
        let from = try directory.openFile(source, O_RDONLY)
        let to = try FileDescriptor.open(target, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
        try FileCopy.copy(from: from, to: to, size: Int64(from.status().st_size))
    }

    private static func makeFolder() throws(StorageError) -> String {
        let base = getenv("TMPDIR").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        var name = Array("\(base)/kf-index-XXXXXX".utf8CString)
        guard mkdtemp(&name) != nil else { throw .system(call: "mkdtemp", path: base, errno: errno) }
        return name.withUnsafeBufferPointer { buffer in buffer.baseAddress.map { String(cString: $0) } ?? base }
    }
}
