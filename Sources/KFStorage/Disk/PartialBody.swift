import Glibc

/// A body in `partial` that can be resumed: two files, named by the key's hash, the bytes and the record about them.
///
/// The writer holds a lock on the bytes, which ends with its process. The record's facts are there before the first
/// byte, and bytes of other facts are gone before that. Checkpoints follow the bytes that they confirm. So `kill -9` at
/// any moment leaves a body that can be resumed up to a checkpoint, or one that is seen not to be.
struct PartialBody {
    private let directory: CacheDirectory
    private let key: Digest
    /// Below `v1`.
    let name: String

    /// The two files, open and locked.
    struct Files: ~Copyable {
        let body: FileDescriptor
        let log: CheckpointLog
        let record: PartialRecord
    }

    /// In seconds: older bodies are not resumed.
    static let lifetime: Int64 = 86_400
    /// In bytes: facts of some kilobytes and 1,000 checkpoints. What is longer is not a record.
    private static let recordLimit = 1 << 18

    init(_ directory: CacheDirectory, _ key: EntryKey) {
        var sha = SHA256()
        sha.update(key.key)
        sha.update("\0")
        sha.update(key.identifier)
        self.directory = directory
        self.key = sha.finish()
        name = "partial/\(self.key.hex)"
    }

    static func record(of name: String) -> String { name + ".facts" }

    private var recordName: String { Self.record(of: name) }

    /// An empty body with these facts, in place of what is there. Nil when another writes to that one, or the facts
    /// cannot be written down.
    func begin(_ facts: PartialFacts) throws(StorageError) -> Files? {
        guard let text = PartialRecord.text(of: facts, key: key), let record = PartialRecord(text, key: key),
            record.facts == facts, try remove()
        else { return nil }
        try directory.replace(recordName, text)
        let body: FileDescriptor
        do {
            body = try directory.open(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        } catch .system(_, _, EEXIST) {
            return nil
        }
        guard try isOwned(body) else { return nil }
        return Files(body: body, log: CheckpointLog(try openRecord()), record: record)
    }

    /// The body and its record if `request` can go on with it at `now`. Nil when there is none, and then what was there
    /// is removed, unless another writes to it.
    func take(_ request: Digest, now: Timestamp) throws(StorageError) -> Files? {
        guard let found = try open() else {
            // A record alone comes from a kill between the two files.
            _ = try remove()
            return nil
        }
        guard try isOwned(found) else { return nil }
        let status = try found.status()
        guard status.age(at: now) <= Self.lifetime, status.st_size > 0, let (log, record) = try readRecord(),
            record.facts.request == request, Int64(status.st_size) <= record.facts.total ?? .max
        else {
            removeFiles()
            return nil
        }
        return Files(body: found, log: log, record: record)
    }

    /// False when another writes to it.
    @discardableResult
    func remove() throws(StorageError) -> Bool {
        if let found = try open() { guard try isOwned(found) else { return false } }
        removeFiles()
        return true
    }

    /// In bytes; nil when there is no body.
    var size: Int64? {
        guard let status = directory.status(of: name), status.isRegularFile else { return nil }
        return Int64(status.st_size)
    }

    /// Nil when there is none; what is no file of ours goes.
    private func open() throws(StorageError) -> FileDescriptor? {
        do {
            let file = try directory.openFile(name, O_RDWR)
            let status = try file.status()
            if status.st_nlink == 1, status.st_uid == geteuid() { return file }
        } catch .system(_, _, ENOENT) {
            return nil
        } catch .planted {
        } catch .system(_, _, let code) where [ELOOP, ENXIO, EACCES, ENOTDIR].contains(code) {}
        removeFiles()
        return nil
    }

    private func isOwned(_ file: borrowing FileDescriptor) throws(StorageError) -> Bool {
        try FileLock.tryAcquire(.exclusive, byte: 0, of: file) && directory.isFile(file, at: name)
    }

    private func openRecord() throws(StorageError) -> FileDescriptor {
        try directory.openFile(recordName, O_RDWR | O_APPEND)
    }

    private func readRecord() throws(StorageError) -> (CheckpointLog, PartialRecord)? {
        do {
            let file = try openRecord()
            guard try file.status().st_nlink == 1,
                let text = String(validating: try file.readAll(limit: Self.recordLimit), as: UTF8.self),
                let record = PartialRecord(text, key: key)
            else { return nil }
            return (CheckpointLog(file), record)
        } catch .planted {
            return nil
        } catch .system(_, _, let code) where [ENOENT, ELOOP, ENOTDIR, EACCES, EFBIG].contains(code) {
            return nil
        }
    }

    private func removeFiles() { Self.removeFiles(name, in: directory) }

    /// The bytes first: a record alone resumes nothing.
    static func removeFiles(_ name: String, in directory: CacheDirectory) {
        directory.unlink(name)
        directory.unlink(record(of: name))
    }
}
