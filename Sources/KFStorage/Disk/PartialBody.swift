import Glibc

/// A body in `partial` that can be resumed: two files, named by the key's hash, the bytes and the facts about them.
///
/// Whoever writes to the bytes holds a lock on them, which ends with the process. The facts are there before the first
/// byte, and bytes of other facts are gone before that: `kill -9` at any moment leaves a body that can be resumed, or
/// one that is seen not to be.
struct PartialBody {
    private let directory: CacheDirectory
    private let key: Digest
    /// Below `v1`.
    let name: String

    struct Taken: ~Copyable {
        let file: FileDescriptor
        let facts: PartialFacts
    }

    /// In seconds: older bodies are not resumed.
    static let lifetime: Int64 = 86_400
    /// Facts are some hundred bytes; what is longer is none.
    private static let factsLimit = 1 << 16

    init(_ directory: CacheDirectory, _ key: EntryKey) {
        var sha = SHA256()
        sha.update(key.key)
        sha.update("\0")
        sha.update(key.identifier)
        self.directory = directory
        self.key = sha.finish()
        name = "partial/\(self.key.hex)"
    }

    static func facts(of name: String) -> String { name + ".facts" }

    private var facts: String { Self.facts(of: name) }

    /// An empty body with these facts, in place of what is there. Nil when another writes to that one, or the facts
    /// cannot be written down.
    func begin(_ facts: PartialFacts) throws(StorageError) -> FileDescriptor? {
        guard let text = facts.text(key: key), try remove() else { return nil }
        try directory.replace(self.facts, text)
        let file: FileDescriptor
        do {
            file = try directory.open(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        } catch .system(_, _, EEXIST) {
            return nil
        }
        guard try isOwned(file) else { return nil }
        return file
    }

    /// The body and its facts if `request` can go on with it at `now`; nil when there is none, and then what was there
    /// is removed, unless another writes to it.
    func take(_ request: Digest, now: Timestamp) throws(StorageError) -> Taken? {
        guard let found = try open() else {
            // Facts alone come from a kill between the two files.
            _ = try remove()
            return nil
        }
        guard try isOwned(found) else { return nil }
        let status = try found.status()
        guard status.age(at: now) <= Self.lifetime, status.st_size > 0, let facts = try readFacts(),
            facts.request == request, Int64(status.st_size) <= facts.total ?? .max
        else {
            removeFiles()
            return nil
        }
        return Taken(file: found, facts: facts)
    }

    /// False when another writes to it.
    @discardableResult
    func remove() throws(StorageError) -> Bool {
        if let found = try open() { guard try isOwned(found) else { return false } }
        removeFiles()
        return true
    }

    /// Nil when there is none; what is no file of ours goes.
    private func open() throws(StorageError) -> FileDescriptor? {
        do {
            // Without O_NONBLOCK the open of a planted FIFO would wait for ever.
            let file = try directory.open(name, O_RDWR | O_NONBLOCK)
            let status = try file.status()
            if status.isRegularFile, status.st_nlink == 1, status.st_uid == geteuid() { return file }
        } catch .system(_, _, ENOENT) {
            return nil
        } catch .system(_, _, let code) where [ELOOP, ENXIO, EISDIR, EACCES, ENOTDIR].contains(code) {}
        removeFiles()
        return nil
    }

    private func isOwned(_ file: borrowing FileDescriptor) throws(StorageError) -> Bool {
        try FileLock.tryAcquire(.exclusive, byte: 0, of: file) && directory.isFile(file, at: name)
    }

    private func readFacts() throws(StorageError) -> PartialFacts? {
        do {
            let file = try directory.open(facts, O_RDONLY | O_NONBLOCK)
            guard try file.status().isRegularFile else { return nil }
            return PartialFacts(String(decoding: try file.readAll(limit: Self.factsLimit), as: UTF8.self), key: key)
        } catch .system(_, _, let code) where [ENOENT, ELOOP, ENXIO, EACCES, EFBIG, EISDIR].contains(code) {
            return nil
        }
    }

    private func removeFiles() { Self.removeFiles(name, in: directory) }

    /// The bytes first: facts alone resume nothing.
    static func removeFiles(_ name: String, in directory: CacheDirectory) {
        directory.unlink(name)
        directory.unlink(facts(of: name))
    }
}
