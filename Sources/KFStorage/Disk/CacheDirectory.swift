import CSystem
import Glibc
import Synchronization

/// The cache's folder: where everything in it lies, made when missing, and refused when others could change it.
package final class CacheDirectory: Sendable {
    package enum Access: Sendable {
        /// Made when it is not there.
        case create
        /// Nothing is made; a missing directory is an error (ENOENT).
        case existing
    }

    /// The root with every link on the way resolved.
    package let root: String
    /// `root/v1`, the part that belongs to this format.
    let version: FileDescriptor
    /// Shared memory does not work between the clients of a network file system, and so no write-ahead log.
    let isOnNetwork: Bool
    /// What partial bodies take: as counted when this process last looked, and what its own have grown by since.
    let partialBytes = Atomic<Int64>(0)
    /// How long those who use the directory wait for other processes.
    let patience: Patience

    var index: String { "\(root)/v1/index.sqlite" }

    private static let tagName = "CACHEDIR.TAG"
    private static let signature = "Signature: 8a477f597d28d172789f06886806bc55"
    private static let tag = """
        \(signature)
        # This directory was made by kf (https://bford.info/cachedir/ says what the first line means).
        # It may be deleted at any time; `kf cache clean --all` empties it.

        """

    /// `trustsOwner`: a directory of another user is accepted (a restored CI cache).
    /// `requiresTag`: only a directory that says so itself is taken for a cache; whoever removes must not be wrong.
    /// `isOnNetwork`: nil asks the file system.
    package init(
        path: String, access: Access, trustsOwner: Bool, requiresTag: Bool = false, isOnNetwork: Bool? = nil,
        patience: Patience = Patience()
    ) throws(StorageError) {
        self.patience = patience
        let opened = try Self.openRoot(path, access)
        if requiresTag { try Self.checkTag(opened.raw, path) }
        root = try Self.resolved(path)
        try Self.checkOwner(opened.status(), root, trustsOwner: trustsOwner)
        version = try Self.openVersion(opened.raw, root, access)
        try Self.checkOwner(version.status(), "\(root)/v1", trustsOwner: trustsOwner)
        self.isOnNetwork = isOnNetwork ?? (kf_is_network_file_system(version.raw) != 0)
    }

    /// A file below `v1`; links are not followed, and nobody is waited for.
    func open(_ name: String, _ flags: Int32, mode: mode_t = 0) throws(StorageError) -> FileDescriptor {
        // Without O_NONBLOCK the open of a planted FIFO would wait for ever.
        let flags = flags | O_CLOEXEC | O_NONBLOCK
        let raw = try retry("open", path(name)) {
            name.withPath { kf_open_without_links(version.raw, $0, flags, mode) }
        }
        return FileDescriptor(taking: raw, path: path(name))
    }

    func path(_ name: String) -> String { "\(root)/v1/\(name)" }

    /// Waits until the names in an object's folder are on the disk.
    func synchronizeFolder(of object: StoredObject) throws(StorageError) {
        try open("objects/\(object.name.prefix(2))", O_RDONLY | O_DIRECTORY).synchronize()
    }

    /// Makes again what was deleted from outside.
    func restore() throws(StorageError) {
        let opened = try Self.openRoot(root, .create)
        try Self.populate(opened.raw, root)
    }

    /// Runs `body`; when the directory was deleted under it, once more in one made anew.
    func restoring<Value: ~Copyable>(
        _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        do {
            return try body()
        } catch .system(_, _, ENOENT) {
            try restore()
            return try body()
        }
    }

    /// Removes every object's file; the write lock must be held, and no entry be left.
    func removeObjects() {
        for folder in FileListing.names(in: "objects", of: version.raw) {
            for name in FileListing.names(in: "objects/\(folder)", of: version.raw) {
                unlinkat(version.raw, "objects/\(folder)/\(name)", 0)
            }
        }
    }

    func makeDirectory(_ name: String) throws(StorageError) {
        try Self.make(name, in: version.raw, shown: path(name))
    }

    /// Whether the directory still is where it was opened.
    var isInPlace: Bool {
        var current = stat()
        var own = stat()
        guard fstatat(AT_FDCWD, "\(root)/v1", &current, AT_SYMLINK_NOFOLLOW) == 0, fstat(version.raw, &own) == 0
        else { return false }
        return own.st_ino == current.st_ino && own.st_dev == current.st_dev
    }

    private static func openRoot(_ path: String, _ access: Access) throws(StorageError) -> FileDescriptor {
        do {
            return try .open(path, O_RDONLY | O_DIRECTORY)
        } catch .system(_, _, ENOTDIR) {
            throw .notADirectory(path: path)
        } catch .system(_, _, ENOENT) where access == .create {
            try makeDirectories(path)
            return try .open(path, O_RDONLY | O_DIRECTORY)
        }
    }

    private static func openVersion(
        _ root: Int32, _ path: String, _ access: Access
    ) throws(StorageError) -> FileDescriptor {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
        do {
            return try .open("v1", in: root, flags, shown: "\(path)/v1")
        } catch .system(_, _, ENOENT) {
            if access == .existing {
                // Another process may just be making it.
                try checkTag(root, path)
                throw .system(call: "open", path: "\(path)/v1", errno: ENOENT)
            }
            try populate(root, path)
            return try .open("v1", in: root, flags, shown: "\(path)/v1")
        }
    }

    private static func resolved(_ path: String) throws(StorageError) -> String {
        guard let real = realpath(path, nil) else { throw .system(call: "realpath", path: path, errno: errno) }
        defer { free(real) }
        return String(cString: real)
    }

    private static func checkOwner(_ status: stat, _ path: String, trustsOwner: Bool) throws(StorageError) {
        if status.st_mode & S_IWOTH != 0 {
            throw .insecureDirectory(
                path: path, reason: "can be written to by every user", remedy: "chmod o-w '\(path)'")
        }
        if status.st_uid != geteuid(), !trustsOwner {
            throw .insecureDirectory(
                path: path, reason: "belongs to another user (uid \(status.st_uid))",
                remedy: "chown -R \(geteuid()) '\(path)', or set KF_TRUST_CACHE_DIR=1")
        }
    }

    private static func makeDirectories(_ path: String) throws(StorageError) {
        var prefix = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            prefix += prefix.isEmpty || prefix.hasSuffix("/") ? String(part) : "/\(part)"
            if mkdir(prefix, 0o700) == -1, errno != EEXIST, errno != EISDIR {
                let code = errno
                throw code == ENOTDIR ? .notADirectory(path: path) : .cannotCreateDirectory(path: path, errno: code)
            }
        }
    }

    private static func populate(_ root: Int32, _ path: String) throws(StorageError) {
        try writeTag(root, path)
        for name in ["v1", "v1/objects", "v1/partial", "v1/tmp"] {
            try make(name, in: root, shown: "\(path)/\(name)")
        }
        for name in ["v1/lock", "v1/flights"] {
            _ = try FileDescriptor.open(
                name, in: root, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600, shown: "\(path)/\(name)")
        }
    }

    private static func make(_ name: String, in directory: Int32, shown path: String) throws(StorageError) {
        if mkdirat(directory, name, 0o700) == -1, errno != EEXIST {
            // The directory above was deleted: that can be mended.
            if errno == ENOENT { throw .system(call: "mkdir", path: path, errno: ENOENT) }
            throw .cannotCreateDirectory(path: path, errno: errno)
        }
    }

    /// An empty directory is an empty cache; any other has kf's tag.
    private static func checkTag(_ root: Int32, _ path: String) throws(StorageError) {
        let expected = Array(tag.utf8.prefix { $0 != UInt8(ascii: "(") })
        do {
            let file = try FileDescriptor.open(
                tagName, in: root, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, shown: "\(path)/\(tagName)")
            if try file.readAll(limit: 1 << 16).starts(with: expected) { return }
        } catch .system(_, _, ENOENT) {
            if FileListing.names(in: ".", of: root).isEmpty { return }
        } catch {}
        // Another process may be between making the file and writing it; then nothing else is there.
        guard FileListing.names(in: ".", of: root) == [tagName] else { throw .notACache(path: path) }
    }

    private static func writeTag(_ root: Int32, _ path: String) throws(StorageError) {
        let shown = "\(path)/\(tagName)"
        let file = try FileDescriptor.open(
            tagName, in: root, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o644, shown: shown)
        // An empty one is of a process that was killed here; any other is somebody's.
        let status = try file.status()
        guard status.isRegularFile, status.st_size == 0 else { return }
        do {
            try file.write(tag)
        } catch {
            unlinkat(root, tagName, 0)
            throw error
        }
    }
}
