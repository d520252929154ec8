import Glibc

extension CacheDirectory {
    /// Moves a file of this process in `tmp` to its place among the objects, as `move` does. A folder of objects is opened
    /// once a second, to see that it is none that leads elsewhere: four system calls fewer for each of many files.
    func publish(_ name: String, as object: StoredObject) throws(StorageError) {
        let file = object.file
        if checkedFolders.contains(object.folderNumber) {
            do throws(StorageError) {
                try retry("rename", path(name)) {
                    name.withPath { name in file.withPath { renameat(version.raw, name, version.raw, $0) } }
                }
                return
            } catch {
                // `move` finds out what is in the way, and what can be done about it.
            }
        }
        try move(name, to: file)
        checkedFolders.insert(object.folderNumber)
    }
}
