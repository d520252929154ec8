import Glibc
import KFStorage
import KFTerms

/// The directory of a data set. Names in it are never followed if they are links.
///
/// A file is written under a hidden name and then renamed. Only the process with the lock of a part writes its names.
package final class ShardFolder: Sendable {
    package let path: String
    private let directory: FileDescriptor
    package let synchronizes: Bool

    package init(_ path: String, synchronizes: Bool) throws(StorageError) {
        self.path = path
        self.synchronizes = synchronizes
        directory = try .open(path, O_RDONLY | O_DIRECTORY)
    }

    private func shown(_ name: String) -> String { path == "." ? name : "\(path)/\(name)" }

    package var names: [String] {
        get throws(StorageError) { FileListing.names(in: try .open(".", in: directory.raw, O_RDONLY | O_DIRECTORY)) }
    }

    /// Returns whether there is a regular file. Throws for anything else of that name.
    package func has(_ name: String) throws(StorageError) -> Bool {
        guard let status = stat(name, in: directory.raw) else {
            let code = errno
            if code == ENOENT { return false }
            throw .system(call: "stat", path: shown(name), errno: code)
        }
        guard status.isRegularFile else { throw .planted(path: shown(name), kind: "not a regular file") }
        return true
    }

    /// Returns those of the names that regular files have. Throws for anything else of such a name.
    package func present(_ names: [String]) throws(StorageError) -> [String] {
        var present: [String] = []
        for name in names where try has(name) { present.append(name) }
        return present
    }

    func open(_ name: String, _ flags: Int32) throws(StorageError) -> FileDescriptor {
        let flags = flags | O_NOFOLLOW | O_NONBLOCK
        let file = try FileDescriptor.open(name, in: directory.raw, flags, mode: 0o666, shown: shown(name))
        guard try file.status().isRegularFile else {
            throw .planted(path: shown(name), kind: "not a regular file")
        }
        return file
    }

    private static func hidden(_ name: String) -> String { ".\(name)" }

    /// Creates the temporary file that will get a name. Only the owner may read it, since its rows hold URLs, which may
    /// be signed. Removes what an earlier run left in its place.
    package func create(_ name: String) throws(StorageError) -> FileDescriptor {
        discard(name)
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
        return try .open(Self.hidden(name), in: directory.raw, flags, mode: 0o600, shown: shown(name))
    }

    package func publish(_ name: String) throws(StorageError) {
        try retry("rename", shown(name)) { renameat(directory.raw, Self.hidden(name), directory.raw, name) }
    }

    package func discard(_ name: String) { unlinkat(directory.raw, Self.hidden(name), 0) }

    /// Waits until the file is on the disk, if that is asked for.
    package func synchronize(_ file: borrowing FileDescriptor) throws(StorageError) {
        if synchronizes { try file.synchronize() }
    }

    /// Waits until renamed files have their names on the disk, if that is asked for.
    package func synchronize() throws(StorageError) {
        if synchronizes { try directory.synchronize() }
    }
}
