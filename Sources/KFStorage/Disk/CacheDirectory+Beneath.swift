import CSystem
import Glibc
import KFSystem

/// Access to files below `v1`.
///
/// Names may come from the index or from a listing, and the directory may be a restored archive. So a path stays
/// beneath `v1` and follows no link, neither on the way nor at its end. Some system calls only take a name (rename,
/// unlink, stat). They get one checked component, in a folder that was opened the same way.
extension CacheDirectory {
    /// Opens a file below `v1`. Links are not followed, and the open never blocks on a FIFO.
    func open(_ name: String, _ flags: Int32, mode: mode_t = 0) throws(StorageError) -> FileDescriptor {
        // A C string would end at the NUL and name another file.
        guard !name.contains(byte: 0) else { throw .system(call: "open", path: path(name), errno: EXDEV) }
        return try .openBeneath(version.raw, name, flags, mode: mode, shownIn: versionPath)
    }

    /// Opens a regular file below `v1`; throws `planted` for anything else. The type is checked before the open,
    /// because opening a device may act on it. With O_CREAT, the cache writes to the file, so it must have no other
    /// hard link.
    func openFile(_ name: String, _ flags: Int32, mode: mode_t = 0) throws(StorageError) -> FileDescriptor {
        if let status = status(of: name), !status.isRegularFile {
            throw .planted(path: path(name), kind: status.kind)
        }
        let file = try open(name, flags, mode: mode)
        let status = try file.status()
        guard status.isRegularFile else { throw .planted(path: path(name), kind: status.kind) }
        guard flags & O_CREAT == 0 || status.st_nlink == 1 else {
            throw .planted(path: path(name), kind: "a hard link to another file")
        }
        return file
    }

    /// Returns the status of a name without following it. Nil when there is nothing, or when a link or a file stands in
    /// for a folder on the way.
    func status(of name: String) -> stat? {
        bestEffort { () throws(StorageError) in
            var result = stat()
            try inFolder(of: name, "stat") { fstatat($0, $1, &result, AT_SYMLINK_NOFOLLOW) }
            return result
        }
    }

    func exists(_ name: String) -> Bool { status(of: name) != nil }

    /// Moves a file to `target` and replaces what is there. A directory there is removed with its contents, because
    /// only files belong there.
    func move(_ name: String, to target: String) throws(StorageError) {
        do throws(StorageError) {
            try rename(name, target)
        } catch .system(_, _, let code) where code == EISDIR || code == ENOTEMPTY || code == EEXIST {
            try clear(target)
            try rename(name, target)
        }
    }

    private func rename(_ name: String, _ target: String) throws(StorageError) {
        let folder = try Folder(of: name, beneath: version.raw, "rename", path(name))
        try inFolder(of: target, "rename") { targetFolder, targetName in
            Self.lastComponent(name).withPath { renameat(folder.raw, $0, targetFolder, targetName) }
        }
    }

    /// Gives a file a second name; throws EEXIST when that name is taken.
    func link(_ name: String, to target: String) throws(StorageError) {
        let folder = try Folder(of: name, beneath: version.raw, "link", path(name))
        try inFolder(of: target, "link") { targetFolder, targetName in
            Self.lastComponent(name).withPath { linkat(folder.raw, $0, targetFolder, targetName, 0) }
        }
    }

    /// Removes a file, a link or another node; throws EISDIR for a directory.
    func removeFile(_ name: String) throws(StorageError) {
        try inFolder(of: name, "unlink") { unlinkat($0, $1, 0) }
    }

    /// Removes whatever is in the place of a file. A missing file or folder is not an error.
    func clear(_ name: String) throws(StorageError) {
        do {
            try removeFile(name)
        } catch let error where error.isAbsence {
        } catch .system(_, _, EISDIR) {
            if removeEmptyDirectory(name) { return }
            // Moving a full directory away is one step, whatever it contains.
            let aside = Self.aside()
            try rename(name, aside)
            removeTree(aside)
        }
    }

    /// Removes a file or an empty directory as far as possible. A missing one is not an error.
    func unlink(_ name: String) {
        let removed = Result { () throws(StorageError) in try removeFile(name) }
        if case .failure(.system(_, _, EISDIR)) = removed { _ = removeEmptyDirectory(name) }
    }

    private func removeEmptyDirectory(_ name: String) -> Bool {
        bestEffort { try inFolder(of: name, "rmdir") { unlinkat($0, $1, AT_REMOVEDIR) } } != nil
    }

    /// Removes a directory with its contents as far as possible. Links in it are removed, not followed.
    func removeTree(_ name: String, depth: Int = 12) {
        for inner in names(in: name) {
            let path = "\(name)/\(inner)"
            let removed = Result { () throws(StorageError) in try removeFile(path) }
            if case .failure(.system(_, _, EISDIR)) = removed, depth > 0 { removeTree(path, depth: depth - 1) }
        }
        unlink(name)
    }

    /// Creates a folder where none is. Anything else there is removed, because it would keep out every file of the
    /// folder.
    func makeFolder(_ name: String) throws(StorageError) {
        if try makeDirectory(name) { return }
        guard let status = status(of: name), !status.isDirectory else { return }
        unlink(name)
        try makeDirectory(name)
    }

    /// Creates a directory. Returns false when the name is taken.
    @discardableResult
    func makeDirectory(_ name: String) throws(StorageError) -> Bool {
        try Self.making { () throws(StorageError) in try inFolder(of: name, "mkdir") { mkdirat($0, $1, 0o700) } }
    }

    /// Throws when the name is not a folder, or when a link is on the way to it.
    func checkFolder(_ name: String) throws(StorageError) {
        close(try retry("open", path(name)) { name.withPath { kf_open_folder_beneath(version.raw, $0) } })
    }

    /// Returns the names in a folder; empty when it is missing or cannot be read.
    func names(in name: String) -> [String] {
        bestEffort { FileListing.names(in: try open(name, O_RDONLY | O_DIRECTORY)) } ?? []
    }

    /// Runs a system call on the last component of a name, in the folder that holds it.
    private func inFolder(
        of name: String, _ call: String, _ body: (Int32, UnsafePointer<CChar>) -> Int32
    ) throws(StorageError) {
        let folder = try Folder(of: name, beneath: version.raw, call, path(name))
        try retry(call, path(name)) {
            Self.lastComponent(name).withPath { body(folder.raw, $0) }
        }
    }

    /// The folder of a name's last component: the directory itself, or one below it.
    struct Folder: ~Copyable {
        let raw: Int32
        private let isOwned: Bool

        /// Opens the folder without following links. Throws EXDEV for a name that leads elsewhere.
        init(
            of name: String, beneath directory: Int32, _ call: String, _ path: @autoclosure () -> String
        ) throws(StorageError) {
            let last = CacheDirectory.lastComponent(name)
            guard !last.isEmpty, last != ".", last != "..", !name.utf8.contains(0) else {
                throw .system(call: call, path: path(), errno: EXDEV)
            }
            guard last.utf8.count < name.utf8.count else {
                (raw, isOwned) = (directory, false)
                return
            }
            let folder = String(name[..<name.utf8.index(name.utf8.endIndex, offsetBy: -last.utf8.count - 1)])
            raw = try retry(call, path()) { folder.withPath { kf_open_folder_beneath(directory, $0) } }
            isOwned = true
        }

        deinit { if isOwned { close(raw) } }
    }

    static func lastComponent(_ name: String) -> String {
        guard let slash = name.utf8.lastIndex(of: UInt8(ascii: "/")) else { return name }
        return String(name[name.utf8.index(after: slash)...])
    }
}
