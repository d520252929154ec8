import Glibc

/// The file `CACHEDIR.TAG`, which marks a directory as a cache and names its owner. kf writes to, and above all removes
/// from, only directories that are its own.
package struct CacheMarker {
    /// The cache's open directory and, for messages, its path.
    let root: Int32
    let path: String

    package static let name = "CACHEDIR.TAG"
    private static let owner = """
        Signature: 8a477f597d28d172789f06886806bc55
        # This directory was made by kf
        """
    private static let text = """
        \(owner) (https://bford.info/cachedir/ says what the first line means).
        # It may be deleted at any time; `kf cache clean --all` empties it.

        """
    private static let lengthLimit = 1 << 16
    /// The names that kf creates in `v1`, without the index.
    private static let contents: Set<String> = Set(["lock", "flights", "reserve"] + CacheLayout.folders)

    /// Checks that the directory is a cache of kf or empty; otherwise throws `notACache`. Returns false when the marker
    /// of a cache is missing or empty. A crash can lose the bytes of the file that was written last.
    func check() throws(StorageError) -> Bool {
        let state = try state()
        if state == .own { return true }
        if state == .missing, try isEmpty() { return false }
        if try isCacheWithoutMarker() { return false }
        // Another process may have begun the cache since the first look: it writes the marker before anything else.
        guard try self.state() == .own else { throw .notACache(path: path) }
        return true
    }

    /// Writes the marker when it is missing or empty. The cache works without it if that fails.
    func heal() { bestEffort(write) }

    /// Writes the marker when it is missing or empty; throws on failure. The marker of another program stays.
    func write() throws(StorageError) {
        guard try state() == .missing else { return }
        let temporary = "\(Self.name).\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let file = try FileDescriptor.open(
            temporary, in: root, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o644, shown: "\(path)/\(temporary)")
        do {
            try file.write(Self.text)
            // After a crash, the file is complete or missing.
            try file.synchronize()
            try retry("rename", "\(path)/\(Self.name)") { renameat(root, temporary, root, Self.name) }
        } catch {
            unlinkat(root, temporary, 0)
            throw error
        }
    }

    private enum Owner {
        case own
        /// A marker of another program.
        case foreign
        /// Missing, empty, cut short by a crash, or not a regular file.
        case missing
    }

    private func state() throws(StorageError) -> Owner {
        guard let status = stat(Self.name, in: root), status.isRegularFile else { return .missing }
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

    /// Returns whether the directory holds only the marker's files of a process that is creating a cache, and
    /// `lost+found`.
    private func isEmpty() throws(StorageError) -> Bool {
        try names(".", in: root).allSatisfy { isMarker($0) || $0 == "lost+found" }
    }

    private func isMarker(_ name: String) -> Bool { name == Self.name || name.hasPrefix(Self.name + ".") }

    private func names(_ name: String, in folder: Int32) throws(StorageError) -> [String] {
        FileListing.names(in: try .open(name, in: folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, shown: path))
    }

    /// Returns whether `v1` looks like kf's: it has an index with kf's application id, or only kf's lock files and
    /// folders.
    private func isCacheWithoutMarker() throws(StorageError) -> Bool {
        let version: FileDescriptor
        do {
            version = try .open("v1", in: root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, shown: path)
        } catch let error where error.isAbsence {
            return false
        }
        if Self.hasOwnIndex(version.raw) { return true }
        guard try names(".", in: root).allSatisfy({ isMarker($0) || $0 == "v1" || $0 == "lost+found" }) else {
            return false
        }
        let found = Set(try names(".", in: version.raw))
        return found.isSuperset(of: ["lock", "flights", CacheLayout.objects])
            && found.allSatisfy { Self.contents.contains($0) || $0.hasPrefix("index.sqlite") }
    }

    /// Returns whether `index.sqlite` in an open directory is an SQLite database with kf's application id.
    private static func hasOwnIndex(_ version: Int32) -> Bool {
        guard stat("index.sqlite", in: version)?.isRegularFile == true else { return false }
        var header = [UInt8](repeating: 0, count: 72)
        let count = bestEffort {
            // Closing this descriptor drops no lock of SQLite: the process has not opened the index yet.
            let file = try FileDescriptor.open("index.sqlite", in: version, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            return try header.withMutableBytes { bytes throws(StorageError) in try file.read(into: bytes) }
        }
        guard count == header.count else { return false }
        let application = header[68...].reduce(0) { $0 << 8 | Int($1) }
        return header.starts(with: "SQLite format 3\0".utf8) && application == Schema.applicationID
    }
}

/// The names of the folders in `v1`.
enum CacheLayout {
    static let objects = "objects"
    static let folders = [objects, "partial", "tmp"]
}
