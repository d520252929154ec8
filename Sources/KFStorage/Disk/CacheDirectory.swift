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
    let recentFolders = RecentFolders()
    /// How long those who use the directory wait for other processes.
    let patience: Patience

    private static let versionName = "v1"

    /// `trustsOwner`: a directory of another user is accepted (a restored CI cache).
    /// `heals`: a marker that is missing is written again.
    /// `isOnNetwork`: nil asks the file system.
    package init(
        path: String, access: Access, trustsOwner: Bool, heals: Bool = true, isOnNetwork: Bool? = nil,
        patience: Patience = Patience()
    ) throws(StorageError) {
        self.patience = patience
        let opened = try Self.openRoot(path, access)
        let marker = CacheMarker(root: opened.raw, path: path)
        let isMarked = try marker.check()
        root = try Self.resolved(path)
        try Self.checkOwner(opened.status(), root, trustsOwner: trustsOwner)
        version = try Self.openVersion(opened.raw, root, access)
        try Self.checkOwner(version.status(), "\(root)/v1", trustsOwner: trustsOwner)
        self.isOnNetwork = isOnNetwork ?? (kf_is_network_file_system(version.raw) != 0)
        try checkFolders()
        if heals, !isMarked { marker.heal() }
    }

    /// A link in the place of a folder would lead every file in it elsewhere.
    private func checkFolders() throws(StorageError) {
        for name in CacheLayout.folders {
            guard let status = status(of: name), !status.isDirectory else { continue }
            throw .planted(path: path(name), kind: status.kind)
        }
    }

    func path(_ name: String) -> String { "\(root)/\(Self.versionName)/\(name)" }

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
        do {
            return try openVersion(root, path)
        } catch .system(_, _, ENOENT) where access == .create {
            try populate(root, path)
            return try openVersion(root, path)
        }
    }

    private static func openVersion(_ root: Int32, _ path: String) throws(StorageError) -> FileDescriptor {
        let shown = "\(path)/\(versionName)"
        do {
            return try .open(versionName, in: root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, shown: shown)
        } catch .system(_, _, let code) where code == ELOOP || code == ENOTDIR {
            var status = stat()
            guard fstatat(root, versionName, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
                throw .system(call: "open", path: shown, errno: code)
            }
            throw .planted(path: shown, kind: status.kind)
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
        try CacheMarker(root: root, path: path).write()
        try make(versionName, in: root, shown: "\(path)/\(versionName)")
        let version = try openVersion(root, path)
        for name in CacheLayout.folders { try make(name, in: version.raw, shown: "\(path)/\(versionName)/\(name)") }
        for name in ["lock", "flights"] {
            let file = try FileDescriptor.open(
                name, in: version.raw, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600,
                shown: "\(path)/\(versionName)/\(name)")
            // Long enough to be mapped. What another process writes there meanwhile stays.
            if try file.status().st_size == 0 { _ = ftruncate(file.raw, 64) }
        }
    }

    private static func make(_ name: String, in directory: Int32, shown path: String) throws(StorageError) {
        if mkdirat(directory, name, 0o700) == -1, errno != EEXIST {
            // The directory above was deleted: that can be mended.
            if errno == ENOENT { throw .system(call: "mkdir", path: path, errno: ENOENT) }
            throw .cannotCreateDirectory(path: path, errno: errno)
        }
    }
}

/// The folders of objects that were folders, and not links, when they were checked in the running second.
final class RecentFolders: Sendable {
    private let seconds = Mutex([Int](repeating: 0, count: 256))

    func contains(_ folder: UInt8) -> Bool {
        let now = Self.now
        return seconds.withLock { $0[Int(folder)] == now }
    }

    func insert(_ folder: UInt8) {
        let now = Self.now
        seconds.withLock { $0[Int(folder)] = now }
    }

    private static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return time.tv_sec
    }
}
