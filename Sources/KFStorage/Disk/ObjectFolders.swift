import Glibc
import Synchronization

/// Looks at objects by the hundred thousand. A path of three components is one system call; what must not be a link on
/// the way, the folder, is looked at once for all of its objects.
final class ObjectFolders: Sendable {
    private let directory: CacheDirectory
    /// Those of the 256 that are folders indeed.
    private let known = Mutex<Set<UInt8>>([])

    init(_ directory: CacheDirectory) { self.directory = directory }

    /// What lies in the place of an object's file, itself not followed; nil when nothing does.
    func status(of object: StoredObject) -> stat? {
        let number = object.folderNumber
        if !known.withLock({ $0.contains(number) }) {
            guard let folder = directory.status(of: object.folder), folder.isDirectory else { return nil }
            known.withLock { _ = $0.insert(number) }
        }
        var result = stat()
        return fstatat(directory.version.raw, object.file, &result, AT_SYMLINK_NOFOLLOW) == 0 ? result : nil
    }
}
