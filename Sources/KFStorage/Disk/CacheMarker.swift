import Glibc

/// `CACHEDIR.TAG`, by which a directory says that it is a cache, and whose. kf writes to, and above all removes from, no
/// directory that belongs to something else.
struct CacheMarker {
    /// An open directory, and its path for messages.
    let root: Int32
    let path: String

    private static let name = "CACHEDIR.TAG"
    private static let owner = """
        Signature: 8a477f597d28d172789f06886806bc55
        # This directory was made by kf
        """
    private static let text = """
        \(owner) (https://bford.info/cachedir/ says what the first line means).
        # It may be deleted at any time; `kf cache clean --all` empties it.

        """
    private static let lengthLimit = 1 << 16
    /// What kf makes in `v1`, beside the index.
    private static let contents: Set<String> = Set(["lock", "flights", "reserve"] + CacheLayout.folders)

    /// Throws `notACache` for a directory that has something in it and is no cache of kf's. False when its marker is
    /// missing or empty and the rest is a cache: a crash can take the bytes of a file that was written last.
    func check() throws(StorageError) -> Bool {
        let state = try state()
        if state == .own { return true }
        if state == .missing, try isEmpty() { return false }
        guard try isCacheWithoutMarker() else { throw .notACache(path: path) }
        return false
    }

    /// Writes the marker when it is missing or empty. Where that is impossible the cache works all the same.
    func heal() { _ = Result { () throws(StorageError) in try write() } }

    /// The same, and says why it cannot. Another program's stays.
    func write() throws(StorageError) {
        guard try state() == .missing else { return }
        let temporary = "\(Self.name).\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let file = try FileDescriptor.open(
            temporary, in: root, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o644, shown: "\(path)/\(temporary)")
        do {
            try file.write(Self.text)
            // After a crash there is all of it or nothing.
            try file.synchronize()
            try retry("rename", "\(path)/\(Self.name)") { renameat(root, temporary, root, Self.name) }
        } catch {
            unlinkat(root, temporary, 0)
            throw error
        }
    }

    private enum State {
        case own
        /// Another program's.
        case foreign
        /// None, an empty one, what a crash left of one, or something that is no file.
        case missing
    }

    private func state() throws(StorageError) -> State {
        var status = stat()
        guard fstatat(root, Self.name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.isRegularFile else { return .missing }
        guard status.st_size <= Self.lengthLimit else { return .foreign }
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor.open(
                Self.name, in: root, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, shown: "\(path)/\(Self.name)"
            ).readAll(expected: Int(status.st_size), limit: Self.lengthLimit)
        } catch .system(_, _, ENOENT) {
            return .missing
        }
        if bytes.starts(with: Self.owner.utf8) { return .own }
        return bytes.allSatisfy { $0 == 0 } || Self.text.utf8.starts(with: bytes) ? .missing : .foreign
    }

    /// Nothing is there but what a process that is making a cache leaves, and the folder of a fresh file system.
    private func isEmpty() throws(StorageError) -> Bool {
        try names(".", in: root).allSatisfy { isMarker($0) || $0 == "lost+found" }
    }

    private func isMarker(_ name: String) -> Bool { name == Self.name || name.hasPrefix(Self.name + ".") }

    private func names(_ name: String, in folder: Int32) throws(StorageError) -> [String] {
        FileListing.names(in: try .open(name, in: folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, shown: path))
    }

    /// Whether `v1` is what kf makes: an index that says so, or else its lock files and folders with nothing beside them.
    private func isCacheWithoutMarker() throws(StorageError) -> Bool {
        let version: FileDescriptor
        do {
            version = try .open("v1", in: root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, shown: path)
        } catch .system(_, _, let code) where code == ENOENT || code == ELOOP || code == ENOTDIR {
            return false
        }
        if IndexHeader.isOwn(in: version.raw) { return true }
        guard try names(".", in: root).allSatisfy({ isMarker($0) || $0 == "v1" || $0 == "lost+found" }) else {
            return false
        }
        let found = Set(try names(".", in: version.raw))
        return found.isSuperset(of: ["lock", "flights", CacheLayout.objects])
            && found.allSatisfy { Self.contents.contains($0) || $0.hasPrefix("index.sqlite") }
    }
}

/// The first bytes of the index.
enum IndexHeader {
    /// Whether `index.sqlite` in an open directory is a database of SQLite's that says it is kf's.
    static func isOwn(in version: Int32) -> Bool {
        var status = stat()
        guard fstatat(version, "index.sqlite", &status, AT_SYMLINK_NOFOLLOW) == 0, status.isRegularFile else {
            return false
        }
        let raw = openat(version, "index.sqlite", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard raw >= 0 else { return false }
        // No lock of SQLite's can be lost by that: the process has not opened the index yet.
        defer { close(raw) }
        var header = [UInt8](repeating: 0, count: 72)
        guard header.withUnsafeMutableBytes({ pread(raw, $0.baseAddress, $0.count, 0) }) == header.count else {
            return false
        }
        let application = header[68...].reduce(0) { $0 << 8 | Int($1) }
        return header.starts(with: "SQLite format 3\0".utf8) && application == Schema.applicationID
    }
}

/// The names of the folders in `v1`.
enum CacheLayout {
    static let objects = "objects"
    static let folders = [objects, "partial", "tmp"]
}
