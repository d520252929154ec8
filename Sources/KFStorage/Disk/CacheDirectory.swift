import CSystem
import Glibc
import KFSystem
import Synchronization

/// The cache's directory: its paths and descriptors. It is created when missing, and refused when other users could
/// change it.
package final class CacheDirectory: Sendable {
    package enum Access: Sendable {
        /// A missing directory is created.
        case create
        /// Nothing is created; a missing directory is an error (ENOENT).
        case existing
    }

    /// The root's path, with symbolic links resolved.
    package let root: String
    let versionPath: String
    /// The path of the folder of objects, with a slash at its end.
    let objectsPath: String
    /// `root/v1`, which holds everything of this on-disk format.
    let version: FileDescriptor
    /// Whether the directory is on a network file system. Shared memory, and so the write-ahead log, does not work
    /// between its clients.
    let isOnNetwork: Bool
    /// The bytes of partial bodies: the sum of the last listing, plus what this process has added since.
    let partialBytes = Atomic<Int64>(0)
    /// The size of the reserve for which this process has seen to; -1 before that.
    let reserved = Atomic<Int64>(-1)
    let checkedFolders = CheckedFolders()
    /// The time limits for waiting for other processes.
    let patience: Patience

    private static let versionName = "v1"
    /// The greatest length of the root's path in bytes. SQLite takes paths of 511 bytes, and the longest one is that of
    /// the journal of an index in the making: `/v1/tmp/index-PID-NUMBER.sqlite-journal`.
    private static let longestRoot = 511 - 57

    /// Opens the directory, and creates it if `access` allows.
    ///
    /// `trustsOwner`: a directory of another user is accepted (for example, a restored CI cache).
    /// `heals`: a missing marker is written again.
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
        if root.utf8.count > Self.longestRoot { throw .pathTooLong(path: root, limit: Self.longestRoot) }
        versionPath = "\(root)/\(Self.versionName)"
        objectsPath = "\(versionPath)/\(CacheLayout.objects)/"
        try Self.checkOwner(opened.status(), root, trustsOwner: trustsOwner)
        version = try Self.openVersion(opened.raw, root, access)
        try Self.checkOwner(version.status(), versionPath, trustsOwner: trustsOwner)
        self.isOnNetwork = isOnNetwork ?? (kf_is_network_file_system(version.raw) != 0)
        try checkFolders()
        if heals, !isMarked { marker.heal() }
    }

    /// Throws `planted` for a folder name that is not a directory: a link there would redirect every file in it.
    private func checkFolders() throws(StorageError) {
        for name in CacheLayout.folders {
            guard let status = status(of: name), !status.isDirectory else { continue }
            throw .planted(path: path(name), kind: status.kind)
        }
    }

    func path(_ name: String) -> String { "\(versionPath)/\(name)" }

    /// Recreates folders and files that were deleted from outside.
    func restore() throws(StorageError) {
        let opened = try Self.openRoot(root, .create)
        try Self.populate(opened.raw, root)
    }

    /// Runs `body`. If the directory was deleted meanwhile, recreates it and runs `body` once more.
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

    /// Whether `root/v1` is still the directory that was opened.
    var isInPlace: Bool {
        guard let current = stat(versionPath), let own = bestEffort({ try version.status() }) else { return false }
        return own.isSameFile(as: current)
    }

    private static func openRoot(_ path: String, _ access: Access) throws(StorageError) -> FileDescriptor {
        do {
            return try .open(path, O_RDONLY | O_DIRECTORY)
        } catch .system(_, _, ENOTDIR) {
            // A file in place of the directory is a mistake to tell; below a file, there can be none.
            throw stat(path) == nil ? .cannotCreateDirectory(path: path, errno: ENOTDIR) : .notADirectory(path: path)
        } catch .system(_, _, ENOENT) where access == .create {
            try makeDirectories(path)
            return try .open(path, O_RDONLY | O_DIRECTORY)
        }
    }

    private static func openVersion(
        _ root: Int32, _ path: String, _ access: Access
    ) throws(StorageError) -> FileDescriptor {
        let shown = "\(path)/\(versionName)"
        do throws(StorageError) {
            return try .open(versionName, in: root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, shown: shown)
        } catch .system(_, _, ENOENT) where access == .create {
            try populate(root, path)
            return try openVersion(root, path, .existing)
        } catch let error where error.isAbsence {
            guard let status = stat(versionName, in: root) else { throw error }
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
        var prefix = path.utf8.first == UInt8(ascii: "/") ? "/" : ""
        for part in path.pathComponents {
            prefix += prefix.isEmpty || prefix.hasSuffix("/") ? String(part) : "/\(part)"
            if mkdir(prefix, 0o700) == -1, errno != EEXIST, errno != EISDIR {
                let code = errno
                throw .cannotCreateDirectory(path: path, errno: code)
            }
        }
    }

    private static func populate(_ root: Int32, _ path: String) throws(StorageError) {
        try CacheMarker(root: root, path: path).write()
        try make(versionName, in: root, shown: "\(path)/\(versionName)")
        let version = try openVersion(root, path, .existing)
        for name in CacheLayout.folders { try make(name, in: version.raw, shown: "\(path)/\(versionName)/\(name)") }
        for name in ["lock", "flights"] {
            let file = try FileDescriptor.open(
                name, in: version.raw, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600,
                shown: "\(path)/\(versionName)/\(name)")
            // Long enough to be mapped. Another process may write here at the same time; its words are kept.
            if try file.status().st_size == 0 { _ = ftruncate(file.raw, 64) }
        }
    }

    /// Runs a call that creates a directory. Returns false when the name is taken.
    @discardableResult
    static func making(_ body: () throws(StorageError) -> Void) throws(StorageError) -> Bool {
        do throws(StorageError) {
            try body()
            return true
        } catch .system(_, _, EEXIST) {
            return false
        } catch .system(_, let path, let code) where code != ENOENT {
            throw .cannotCreateDirectory(path: path, errno: code)
        }
        // ENOENT: the parent directory was deleted; `restoring` can recreate it.
    }

    private static func make(_ name: String, in directory: Int32, shown path: String) throws(StorageError) {
        try making { () throws(StorageError) in try retry("mkdir", path) { mkdirat(directory, name, 0o700) } }
    }
}

/// The object folders, by number, that were checked during the current second to be folders and not links.
final class CheckedFolders: Sendable {
    private let seconds = Mutex([Int](repeating: 0, count: 256))

    /// Runs `check` unless the folder was checked during this second.
    func check(_ folder: UInt8, _ check: () throws(StorageError) -> Void) throws(StorageError) {
        let now = Self.now
        if seconds.withLock({ $0[Int(folder)] == now }) { return }
        try check()
        seconds.withLock { $0[Int(folder)] = now }
    }

    private static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return time.tv_sec
    }
}
