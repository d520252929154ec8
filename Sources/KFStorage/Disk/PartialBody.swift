import Glibc
import KFSystem

/// A body in `partial` that can be resumed: a file with its bytes and a file with its record, both named by the key's
/// hash.
///
/// The writer holds a lock on the bytes, which ends with its process. The record's facts are written before the first
/// byte, and bytes with other facts are removed before that. Checkpoints follow the bytes that they confirm. So `kill
/// -9` at any moment leaves a body that can be resumed from a checkpoint, or one that is recognized as unusable.
struct PartialBody {
    private let directory: CacheDirectory
    private let key: Digest
    /// The path of the bytes below `v1`.
    let name: String

    /// The two files, open and locked.
    struct Files: ~Copyable {
        let body: FileDescriptor
        let log: CheckpointLog
        let record: PartialRecord
    }

    /// The age in seconds after which a body is not resumed.
    static let lifetime: Int64 = 86_400
    /// The longest record in bytes: facts of some kilobytes and 1,000 checkpoints.
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

    /// Creates an empty body with these facts, in place of an existing one. Returns nil when another writer has that
    /// one open, or when the record cannot represent the facts.
    func begin(_ facts: PartialFacts) throws(StorageError) -> Files? {
        guard let text = PartialRecord.text(of: facts, key: key), let record = PartialRecord(text, key: key),
            record.facts == facts, try remove()
        else { return nil }
        try directory.replace(recordName, Array(text.utf8))
        let body: FileDescriptor
        do {
            body = try directory.open(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        } catch .system(_, _, EEXIST) {
            return nil
        }
        guard try isOwned(body) else { return nil }
        return Files(body: body, log: CheckpointLog(try openRecord()), record: record)
    }

    /// Opens the body and its record if `request` can resume it at `now`; otherwise returns nil. A body that cannot be
    /// resumed is removed, unless a process is writing to it.
    func take(_ request: Digest, now: Timestamp) throws(StorageError) -> Files? {
        guard let found = try open() else {
            // A record without a body comes from a kill between the two files.
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

    /// Removes the body and its record. Returns false while a process is writing to it.
    @discardableResult
    func remove() throws(StorageError) -> Bool {
        if let found = try open() { guard try isOwned(found) else { return false } }
        removeFiles()
        return true
    }

    /// The size in bytes; nil when there is no body.
    var size: Int64? {
        guard let status = directory.status(of: name), status.isRegularFile else { return nil }
        return Int64(status.st_size)
    }

    /// Opens the bytes; nil when there are none. Anything but a regular file of this user with one name is removed.
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

    /// Removes the bytes first, because a record alone resumes nothing.
    static func removeFiles(_ name: String, in directory: CacheDirectory) {
        directory.unlink(name)
        directory.unlink(record(of: name))
    }
}

package struct PartialFacts: Equatable, Sendable {
    /// The URL that was requested, without user info.
    package let url: String
    /// The URL that answered, after redirects. A validator is valid only for the bytes at this URL.
    package let location: String
    /// The digest of the request: its URL with every header that can change the answer.
    package let request: Digest
    /// A strong entity tag with its quotes, or else a strong Last-Modified date.
    package let validator: String
    /// The Content-Type of the response; nil when it had none.
    package let contentType: String?
    /// The size of the whole body in bytes; nil when the origin did not send it.
    package let total: Int64?

    package init(
        url: String, location: String, request: Digest, validator: String, contentType: String?, total: Int64?
    ) {
        self.url = url
        self.location = location
        self.request = request
        self.validator = validator
        self.contentType = contentType
        self.total = total
    }
}

/// The record of a partial body: its facts, then the checkpoints that confirm its bytes.
///
/// Every item is one line, ended by a line feed. The facts are the format, the key's hash, the request, the total, the
/// validator, the content type, the location and the URL. Then follow any number of checkpoints, each longer than the
/// one before it. An incomplete last line does not count.
struct PartialRecord: Equatable {
    let facts: PartialFacts
    let checkpoints: [Checkpoint]
    /// The size of the lines before the first checkpoint, in bytes.
    private let head: Int

    private static let format = "kf-partial 2"

    /// Returns the text of a record without checkpoints; nil when a fact contains a line feed.
    static func text(of facts: PartialFacts, key: Digest) -> String? {
        let lines = [
            format, key.hex, facts.request.hex, facts.total.map(String.init) ?? "-", facts.validator,
            facts.contentType ?? "", facts.location, facts.url,
        ]
        guard !lines.contains(where: { $0.utf8.contains(0x0a) }) else { return nil }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Parses a record; nil when its facts are incomplete or belong to another key.
    init?(_ text: String, key: Digest) {
        var lines = text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false).map { String(Substring($0)) }
        // The last element is the text after the last line feed: an incomplete line, or nothing.
        lines.removeLast()
        guard lines.count >= 8, lines[0] == Self.format, lines[1] == key.hex, let request = Digest(hex: lines[2]) else {
            return nil
        }
        let total = Int64(lines[3])
        guard lines[3] == "-" || (total ?? -1) >= 0, !lines[4].isEmpty, HeaderText.isValue(lines[4]) else { return nil }
        facts = PartialFacts(
            url: lines[7], location: lines[6], request: request, validator: lines[4],
            contentType: lines[5].isEmpty ? nil : lines[5], total: total)
        head = lines[..<8].reduce(0) { $0 + $1.utf8.count + 1 }
        var checkpoints: [Checkpoint] = []
        for line in lines[8...] {
            guard let checkpoint = Checkpoint(line: line), checkpoint.length > checkpoints.last?.length ?? 0 else {
                break
            }
            checkpoints.append(checkpoint)
        }
        self.checkpoints = checkpoints
    }

    /// Returns the size of the record in bytes, up to the end of `count` checkpoints.
    func size(checkpoints count: Int) -> Int {
        checkpoints.prefix(count).reduce(head) { $0 + $1.line.utf8.count }
    }
}

/// The number of partial bodies and their bytes.
package struct PartialSum: Equatable, Sendable {
    package fileprivate(set) var count = 0
    package fileprivate(set) var bytes: Int64 = 0

    mutating func add(_ size: Int64) {
        count += 1
        bytes = bytes.adding(saturating: size)
    }

    mutating func subtract(_ size: Int64) {
        count -= 1
        bytes -= size
    }
}
