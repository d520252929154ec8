import Glibc
import KFSystem

extension CacheDirectory {
    /// Moves a file of this process in `tmp` to its place among the objects, as `move` does. A folder of objects is opened
    /// once a second, to see that it is none that leads elsewhere: four system calls fewer for each of many files.
    /// ENOENT, ELOOP and ENOTDIR: the folder is missing, or no folder.
    func publish(_ name: String, as object: StoredObject) throws(StorageError) {
        if !checkedFolders.contains(object.folderNumber) {
            try checkFolder(object.folder)
            checkedFolders.insert(object.folderNumber)
        }
        let file = object.file
        do throws(StorageError) {
            try retry("rename", path(name)) {
                name.withPath { name in file.withPath { renameat(version.raw, name, version.raw, $0) } }
            }
        } catch {
            // `move` finds out what is in the way, and what can be done about it.
            try move(name, to: file)
        }
    }

    func makeFolder(of object: StoredObject) throws(StorageError) {
        do throws(StorageError) {
            try makeFolder(object.folder)
        } catch .system(_, _, let code) where code == ENOENT || code == ELOOP || code == ENOTDIR {
            try makeDirectory("objects")
            try makeFolder(object.folder)
        }
    }
}
