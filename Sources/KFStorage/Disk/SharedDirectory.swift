import Glibc
import KFSystem
import Synchronization

/// A directory that several machines share, with files that appear whole or not at all.
///
/// Paths stay beneath the root and follow no link, because other users may write to it. A file is written under another
/// name in `kf1/tmp` and moved to its place. Only files of such a name are removed: `tmp` beside `kf1`, which earlier
/// versions used, may be another program's.
package final class SharedDirectory: Sendable {
    private let path: String
    private let creates: Bool
    /// The root once it is open, and whether it was made ready for the first write.
    private let state = Mutex<(root: Root?, isWritten: Bool)>((nil, false))
    private static let temporaries = ["kf1", "tmp"]
    private static let temporaryPrefix = "kf-upload-"
    /// The age in seconds after which the file of a killed writer is removed.
    private static let oldest: Int64 = 86_400

    /// The open root. It stays open, so that every access is one `openat2`.
    private final class Root: Sendable {
        let directory: FileDescriptor
        let status: stat

        init(_ directory: consuming FileDescriptor) throws(StorageError) {
            status = try directory.status()
            self.directory = directory
        }

        /// Whether a group shares the directory: what is made there gets its group.
        var isShared: Bool { status.st_mode & S_ISGID != 0 }

        /// Whether the group has an access to the directory that it has not to a file or folder of it.
        func shutsOut(_ other: stat, _ access: mode_t) -> Bool {
            isShared && status.st_mode & access != 0 && (other.st_gid != status.st_gid || other.st_mode & access == 0)
        }
    }

    /// Opens nothing yet. With `creates`, the first write creates a missing root, which has no files before.
    package init(_ path: String, creates: Bool) {
        self.path = path
        self.creates = creates
    }

    /// Opens a file; nil when there is none. Throws `planted` for anything but a regular file.
    package func open(_ name: String) throws(StorageError) -> FileDescriptor? {
        do throws(StorageError) {
            let file = try open(name, O_RDONLY, in: opened())
            let status = try file.status()
            guard status.isRegularFile else { throw .planted(path: file.path, kind: status.kind) }
            return file
        } catch .system(_, let place, let code) where code == ENOENT || code == ENOTDIR {
            // A missing root is perhaps not mounted.
            guard place != path || creates && code == ENOENT else {
                throw .system(call: "open", path: path, errno: code)
            }
            return nil
        }
    }

    /// Returns whether a file is there, which this user perhaps may not read.
    package func holds(_ name: String) -> Bool {
        let parts = name.pathComponents
        do throws(StorageError) {
            let folder = try open(parts.dropLast().joined(separator: "/"), O_RDONLY | O_DIRECTORY, in: opened())
            return faccessat(folder.raw, String(parts.last ?? ""), F_OK, AT_SYMLINK_NOFOLLOW) == 0
        } catch {
            return false
        }
    }

    /// The end of a message: the commands that give the group access to a shared directory. Empty for any other one.
    package var cure: String {
        do throws(StorageError) {
            let root = try opened()
            guard root.isShared else { return "" }
            let own = root.status.st_mode & S_IWGRP == 0 ? "chmod g+w '\(path)' and " : ""
            return " (each user needs 'umask 002', and the owners once: "
                + "\(own)chmod -R g+rwX '\(path)/\(Self.temporaries[0])')"
        } catch {
            return ""
        }
    }

    /// Writes a file. Without `replaces`, an existing file is left as it is, and false returned. In a directory that a
    /// group shares, `warn` is told what is written out of the group's reach.
    @discardableResult
    package func write(
        _ name: String, replaces: Bool, warn: (String) -> Void = { _ in },
        _ body: (borrowing FileDescriptor) throws(StorageError) -> Void
    ) throws(StorageError) -> Bool {
        let root = try opened(forWriting: true)
        let parts = name.pathComponents.map { String($0) }
        guard let last = parts.last else { return false }
        let folder = try folder(parts.dropLast(), in: root)
        if !replaces, faccessat(folder.raw, last, F_OK, AT_SYMLINK_NOFOLLOW) == 0 { return false }
        let temporaries = try self.folder(Self.temporaries, in: root)
        // Sixteen hexadecimal digits.
        let temporary = Self.temporaryPrefix + String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
        let file = try FileDescriptor.open(
            temporary, in: temporaries.raw, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666,
            shown: "\(temporaries.path)/\(temporary)")
        do throws(StorageError) {
            if root.shutsOut(try file.status(), S_IRGRP) {
                warn("the group of the directory cannot read \(path)/\(name)\(cure)")
            } else if root.shutsOut(try folder.status(), S_IWGRP) {
                warn("the group of the directory cannot write to \(folder.path)\(cure)")
            }
            try body(file)
            try retry("rename", "\(path)/\(name)") { renameat(temporaries.raw, temporary, folder.raw, last) }
            return true
        } catch {
            unlinkat(temporaries.raw, temporary, 0)
            throw error
        }
    }

    private func opened(forWriting: Bool = false) throws(StorageError) -> Root {
        try state.withLock { state throws(StorageError) in
            let changes = creates && forWriting && !state.isWritten
            if changes, state.root == nil { path.withPath { _ = mkdir($0, 0o777) } }
            let root =
                if let open = state.root { open } else {
                    try Root(FileDescriptor.open(path, O_RDONLY | O_DIRECTORY))
                }
            if changes { sweep(root) }
            state = (root, state.isWritten || changes)
            return root
        }
    }

    private func open(_ name: String, _ flags: Int32, in root: Root) throws(StorageError) -> FileDescriptor {
        try .openBeneath(root.directory.raw, name, flags, shownIn: path)
    }

    /// Opens a folder below the root, and creates what is missing of it.
    private func folder(_ parts: some Collection<String>, in root: Root) throws(StorageError) -> FileDescriptor {
        let name = parts.joined(separator: "/")
        do throws(StorageError) {
            return try open(name, O_RDONLY | O_DIRECTORY, in: root)
        } catch .system(_, _, ENOENT) {
            var above = try FileDescriptor.open(".", in: root.directory.raw, O_RDONLY | O_DIRECTORY, shown: path)
            for part in parts {
                if mkdirat(above.raw, part, 0o777) != 0, errno != EEXIST {
                    throw .system(call: "mkdir", path: "\(path)/\(name)", errno: errno)
                }
                above = try FileDescriptor.open(
                    part, in: above.raw, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, shown: "\(path)/\(name)")
            }
            return above
        }
    }

    /// Removes the files that killed writers have left. A failure leaves them for the next run.
    private func sweep(_ root: Root) {
        let name = Self.temporaries.joined(separator: "/")
        bestEffort {
            let folder = try open(name, O_RDONLY | O_DIRECTORY, in: root)
            let now = Timestamp.now()
            for name in FileListing.names(in: folder).lazy.filter(Self.isTemporary).prefix(1000) {
                guard let status = stat(name, in: folder.raw), status.isRegularFile,
                    status.seconds(until: now) > Self.oldest
                else { continue }
                unlinkat(folder.raw, name, 0)
            }
        }
    }

    /// Returns whether `write` gives its temporary files such names.
    private static func isTemporary(_ name: String) -> Bool {
        let digits = name.utf8.dropFirst(temporaryPrefix.utf8.count)
        return name.hasPrefix(temporaryPrefix) && digits.count == 16 && digits.allSatisfy(\.isLowercaseHex)
    }
}
