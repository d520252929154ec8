import Glibc

/// The index's files, which SQLite opens by their path.
extension CacheDirectory {
    private static let indexName = "index.sqlite"
    /// The index first.
    static let indexFiles = ["", "-journal", "-shm", "-wal"].map { indexName + $0 }

    var index: String { path(Self.indexName) }

    var hasIndex: Bool { exists(Self.indexName) }

    /// Throws `corruptIndex` when SQLite must not be let near what lies there: a link, a FIFO that would keep it waiting, or
    /// a journal that names another file.
    func checkIndexFiles() throws(StorageError) {
        for name in Self.indexFiles {
            guard let status = status(of: name) else { continue }
            guard status.isRegularFile else {
                throw .corruptIndex(path: path(name), detail: "it is \(status.kind)")
            }
            if name.hasSuffix("-journal"), try namesSuperJournal(name) {
                throw .corruptIndex(path: path(name), detail: "it names a file outside the cache")
            }
        }
    }

    /// Whether a rollback journal ends with the name of a super-journal. SQLite writes one when a transaction spans
    /// several databases, which kf has none of; and when it rolls such a journal back, it deletes the file of that name,
    /// wherever that is.
    private func namesSuperJournal(_ name: String) throws(StorageError) -> Bool {
        let journal = try openFile(name, O_RDONLY)
        let size = try journal.status().st_size
        guard size >= 16 else { return false }
        var end = [UInt8](repeating: 0, count: 8)
        let count = end.withUnsafeMutableBytes { pread(journal.raw, $0.baseAddress, $0.count, size - 8) }
        guard count == 8 else { throw .system(call: "pread", path: path(name), errno: count == -1 ? errno : EIO) }
        return end == [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    }

    /// No room for another byte, or another file.
    var isFull: Bool {
        var disk = statvfs()
        guard fstatvfs(version.raw, &disk) == 0 else { return false }
        return disk.f_bavail == 0 || disk.f_files > 0 && disk.f_favail == 0
    }

    /// The names in `v1` itself; empty when it cannot be read.
    var ownNames: [String] {
        let opened = Result { () throws(StorageError) in
            FileListing.names(in: try .open(".", in: version.raw, O_RDONLY | O_DIRECTORY, shown: path(".")))
        }
        if case .success(let names) = opened { return names }
        return []
    }

    /// The inode number of the index; 0 when there is none.
    var indexNumber: ino_t { status(of: Self.indexName)?.st_ino ?? 0 }

    /// Of the write-ahead log, in bytes; 0 when there is none.
    var logSize: Int64 { status(of: Self.indexName + "-wal").map { Int64($0.st_size) } ?? 0 }
}

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
