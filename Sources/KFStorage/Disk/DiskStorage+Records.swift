import Glibc
import KFSystem

/// Records of what was written outside the cache: a file each in `v1/outputs`. No cleaning removes them.
extension DiskStorage {
    private static let folder = "outputs"
    /// The greatest size of a record in bytes: some two million files.
    private static let largest = 256 << 20

    /// Returns the bytes of a record; nil when there is none. `name` is one path component. Blocks.
    package func record(_ name: String) throws(StorageError) -> [UInt8]? {
        do {
            return try session.directory.openFile("\(Self.folder)/\(name)", O_RDONLY).readAll(limit: Self.largest)
        } catch let error where error.isAbsence {
            return nil
        }
    }

    /// Replaces a record as a whole. Blocks.
    package func setRecord(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        let directory = session.directory
        try directory.restoring { () throws(StorageError) in
            try directory.makeFolder(Self.folder)
            try directory.replace("\(Self.folder)/\(name)", bytes)
            own.withLock { $0.noteChange() }
        }
    }
}

/// Files below a directory, of which each still has the content that is known of it.
package struct KnownFiles: ~Copyable {
    private let directory: FileDescriptor

    /// Opens the directory.
    package init(in path: String) throws(StorageError) { directory = try .open(path, O_RDONLY | O_DIRECTORY) }

    /// Returns whether the regular file of this name has this content. Links are not followed. Blocks.
    package func holds(_ name: String, _ digest: Digest) -> Bool {
        guard !name.contains(byte: 0) else { return false }
        let found = bestEffort { () throws(StorageError) in
            let file = try FileDescriptor.openBeneath(directory.raw, name, O_RDONLY, shownIn: directory.path)
            return try file.status().isRegularFile ? try file.digest() : nil
        }
        return found == .some(digest)
    }

    /// Removes a file. Links on the way are not followed. Blocks.
    package func remove(_ name: String) throws(StorageError) {
        let folder = try CacheDirectory.Folder(of: name, beneath: directory.raw, "unlink", name)
        try retry("unlink", name) { CacheDirectory.lastComponent(name).withPath { unlinkat(folder.raw, $0, 0) } }
    }
}
