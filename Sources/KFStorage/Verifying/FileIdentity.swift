import Glibc

/// Which file it was and in which state: a file that was replaced or changed since has another.
struct FileIdentity: Sendable, Equatable {
    private let device: UInt64
    private let inode: UInt64
    private let mode: UInt32
    let size: Int64
    private let modified: Int64
    private let changed: Int64

    /// `name` is below the objects; no link on the way is followed. Nil when nothing is there.
    init?(_ name: String, in storage: DiskStorage) {
        self.init(name, in: storage.session.directory)
    }

    init?(_ name: String, in directory: CacheDirectory) {
        guard let status = directory.status(of: "objects/\(name)") else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        mode = status.st_mode
        size = Int64(status.st_size)
        modified = status.modified
        changed = Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
    }

    var isRegular: Bool { mode & S_IFMT == S_IFREG }
    var isDirectory: Bool { mode & S_IFMT == S_IFDIR }

    var description: String {
        var status = stat()
        status.st_mode = mode
        return status.kind
    }
}
