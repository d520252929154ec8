import Glibc
import KFSystem

/// The files of the index. SQLite opens them by path.
extension CacheDirectory {
    private static let indexName = "index.sqlite"
    /// The names of the index and its journals. The index comes first.
    static let indexFiles = ["", "-journal", "-shm", "-wal"].map { indexName + $0 }

    var index: String { path(Self.indexName) }

    var hasIndex: Bool { exists(Self.indexName) }

    /// Throws `corruptIndex` when SQLite must not open the index's files: a link, a FIFO that would block it, or a
    /// journal that names another file.
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

    /// Returns whether a rollback journal ends with the name of a super-journal. SQLite writes one for a transaction
    /// over several databases, which kf never has. Rolling such a journal back deletes the file of that name, wherever
    /// it is.
    private func namesSuperJournal(_ name: String) throws(StorageError) -> Bool {
        let journal = try openFile(name, O_RDONLY)
        let size = try journal.status().st_size
        guard size >= 16 else { return false }
        var end = [UInt8](repeating: 0, count: 8)
        let count = end.withUnsafeMutableBytes { pread(journal.raw, $0.baseAddress, $0.count, size - 8) }
        guard count == 8 else { throw .system(call: "pread", path: path(name), errno: count == -1 ? errno : EIO) }
        return end == [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    }

    /// Whether the file system has no free block or no free inode.
    var isFull: Bool {
        var disk = statvfs()
        guard fstatvfs(version.raw, &disk) == 0 else { return false }
        return disk.f_bavail == 0 || disk.f_files > 0 && disk.f_favail == 0
    }

    /// The names in `v1`; empty when it cannot be read.
    var ownNames: [String] {
        bestEffort {
            FileListing.names(in: try .open(".", in: version.raw, O_RDONLY | O_DIRECTORY, shown: path(".")))
        } ?? []
    }

    /// The inode number of the index; 0 when there is none.
    var indexNumber: ino_t { status(of: Self.indexName)?.st_ino ?? 0 }

    /// The size of the write-ahead log in bytes; 0 when there is none.
    var logSize: Int64 { status(of: Self.indexName + "-wal").map { Int64($0.st_size) } ?? 0 }
}

/// A private copy of an index, for a directory that this process cannot write to. SQLite cannot read the write-ahead
/// log there, because the shared memory that readers need is missing.
enum IndexCopy {
    private static let attempts = 5

    /// Opens a connection to a copy. The copy's name is already removed, so the file disappears with the connection.
    static func open(_ directory: CacheDirectory) throws(StorageError) -> sending Connection {
        let folder = try makeFolder()
        let path = "\(folder)/index.sqlite"
        defer {
            for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
            rmdir(folder)
        }
        try copyBoth(directory, path)
        let connection = try Connection(path: path, mode: .readWrite, patience: directory.patience)
        // Leaving WAL mode moves the log's pages into the copy. Then the open file is all that SQLite needs.
        try connection.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF")
        try connection.execute("PRAGMA journal_mode = MEMORY; PRAGMA query_only = ON")
        return connection
    }

    /// Copies the index and its log. They match if no process ran a checkpoint between the two copies.
    private static func copyBoth(_ directory: CacheDirectory, _ path: String) throws(StorageError) {
        for _ in 0..<attempts {
            let before = try Version(directory)
            try copy(directory, "index.sqlite", path)
            try copy(directory, "index.sqlite-wal", path + "-wal")
            if try Version(directory) == before { return }
        }
        throw .readOnly(path: directory.root)
    }

    struct Version: Equatable {
        let modified: Int64
        let size: off_t
        /// The log's header. Its salt changes each time the log restarts.
        let log: [UInt8]

        init(_ directory: CacheDirectory) throws(StorageError) {
            let status = try directory.openFile("index.sqlite", O_RDONLY).status()
            modified = status.modified
            size = status.st_size
            let header = try directory.openFile("index.sqlite-wal", O_RDONLY)
            var bytes = [UInt8](repeating: 0, count: 32)
            let count = try bytes.withMutableBytes { buffer throws(StorageError) in try header.read(into: buffer) }
            log = Array(bytes.prefix(count))
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
