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
