import CSystem
import Glibc
import KFSystem

/// The folder of objects that are removed one after the other, opened once for all of them.
struct OpenFolder: ~Copyable {
    private let directory: CacheDirectory
    private var number: UInt8?
    /// -1 when it cannot be opened.
    private var raw: Int32 = -1

    init(_ directory: CacheDirectory) { self.directory = directory }

    deinit { if raw >= 0 { close(raw) } }

    /// Frees the place of an object's file, as `CacheDirectory.clear` does.
    mutating func clear(_ object: StoredObject) throws(StorageError) {
        if number != object.folderNumber { open(object) }
        let result = object.name.withPath { name in
            // The folder's two digits and the slash are not part of the name in it.
            raw >= 0 ? unlinkat(raw, name + 3, 0) : -1
        }
        if result == 0 || raw >= 0 && errno == ENOENT { return }
        try directory.clear(object.file)
    }

    private mutating func open(_ object: StoredObject) {
        if raw >= 0 { close(raw) }
        raw = object.folder.withPath { kf_open_folder_beneath(directory.version.raw, $0) }
        number = object.folderNumber
    }
}
