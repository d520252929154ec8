import CSystem
import Dispatch
import Glibc
import KFSystem
import Synchronization

/// The files of images, content-addressed: `objects/AB/CDEF….EXT`, where `ABCDEF…` is the SHA-256 of the bytes. No
/// other type knows this folder.
///
/// A name is an object's path below the folder, `AB/CDEF….EXT`. Names come from the index or from a listing.
package struct ObjectStore: Sendable {
    fileprivate let directory: CacheDirectory

    /// Returns the path of an object's file, for display or for another program.
    package func path(of object: StoredObject) -> String { object.path(below: directory.objectsPath) }

    package func open(_ object: StoredObject) throws(StorageError) -> FileDescriptor {
        var status = stat()
        return try open(object, &status)
    }

    func open(_ object: StoredObject, _ status: inout stat) throws(StorageError) -> FileDescriptor {
        // The file is checked by its path first, because opening a device may act on it. The check may follow a link in
        // the place of a folder; the open, beneath `v1` and without links, does not.
        let isPlanted = object.withFile { file in
            fstatat(directory.version.raw, file, &status, AT_SYMLINK_NOFOLLOW) == 0 && !status.isRegularFile
        }
        if isPlanted { throw .planted(path: path(of: object), kind: status.kind) }
        let raw = try retry("open", path(of: object)) {
            object.withFile { kf_open_beneath(directory.version.raw, $0, O_RDONLY | O_NONBLOCK, 0) }
        }
        let file = FileDescriptor(taking: raw, path: path(of: object))
        status = try file.status()
        guard status.isRegularFile else { throw .planted(path: file.path, kind: status.kind) }
        return file
    }

    func exists(_ object: StoredObject) -> Bool { directory.exists(object.file) }

    // MARK: Storing

    /// Moves a file of this process in `tmp` to its object's place, like `CacheDirectory.move`.
    ///
    /// Once a second, the object's folder is checked to be a folder and not a link, here and for `status`. This saves
    /// four system calls for each of many files. Throws ENOENT, ELOOP or ENOTDIR when it is not a folder.
    func publish(_ name: String, as object: StoredObject) throws(StorageError) {
        try checkFolder(of: object)
        let version = directory.version.raw
        do throws(StorageError) {
            try retry("rename", directory.path(name)) { object.withFile { renameat(version, name, version, $0) } }
        } catch {
            // `move` finds what is in the way, and removes it where it may.
            try directory.move(name, to: object.file)
        }
    }

    private func checkFolder(of object: StoredObject) throws(StorageError) {
        try directory.checkedFolders.check(object.folderNumber) { () throws(StorageError) in
            try directory.checkFolder(object.folder)
        }
    }

    /// Moves a file to its object's place without relying on an earlier check of the folder.
    func move(_ name: String, to object: StoredObject) throws(StorageError) {
        try directory.move(name, to: object.file)
    }

    func makeFolder(of object: StoredObject) throws(StorageError) {
        do throws(StorageError) {
            try directory.makeFolder(object.folder)
        } catch let error where error.isAbsence {
            try directory.makeDirectory(CacheLayout.objects)
            try directory.makeFolder(object.folder)
        }
    }

    /// Waits until the names in an object's folder are on the disk.
    func synchronizeFolder(of object: StoredObject) throws(StorageError) {
        try directory.open(object.folder, O_RDONLY | O_DIRECTORY).synchronize()
    }

    /// Waits until an object's bytes are on the disk, which another process may have written without waiting.
    func synchronize(_ object: StoredObject) throws(StorageError) { try open(object).synchronize() }

    // MARK: Removing

    /// Frees the places of objects on another thread while `body` runs on this one, which then helps from the other end:
    /// the kernel takes longer to remove a file than SQLite to remove its row.
    func clear(_ objects: [StoredObject], during body: () throws(StorageError) -> Void) throws(StorageError) {
        if objects.isEmpty { return try body() }
        let clearing = Clearing(objects, self)
        let other = DispatchGroup()
        DispatchQueue.global().async(group: other) { clearing.run(from: 0, by: 1) }
        let result = Result(catching: body)
        clearing.run(from: objects.count - 1, by: -1)
        other.wait()
        try result.get()
        try clearing.check()
    }

    private final class Clearing: Sendable {
        private let objects: [StoredObject]
        private let store: ObjectStore
        /// The number of objects that a thread has taken.
        private let taken = Atomic(0)
        private let failure = Mutex<StorageError?>(nil)

        init(_ objects: [StoredObject], _ store: ObjectStore) { (self.objects, self.store) = (objects, store) }

        /// Removes the files from one end until both threads have taken all of them, or one has failed.
        func run(from end: Int, by step: Int) {
            do throws(StorageError) {
                var index = end
                while taken.add(1, ordering: .relaxed).oldValue < objects.count {
                    try store.clear(objects[index])
                    index += step
                }
            } catch {
                failure.withLock { $0 = error }
                taken.store(objects.count, ordering: .relaxed)
            }
        }

        func check() throws(StorageError) { if let error = failure.withLock({ $0 }) { throw error } }
    }

    /// Frees an object's place, as `CacheDirectory.clear` does. Many are removed at once, so that the folder's check counts
    /// for a second.
    func clear(_ object: StoredObject) throws(StorageError) {
        if bestEffort({ try checkFolder(of: object) }) != nil {
            let result = object.withFile { unlinkat(directory.version.raw, $0, 0) }
            if result == 0 || errno == ENOENT { return }
        }
        try directory.clear(object.file)
    }

    /// Removes an object's file as far as possible.
    func remove(_ object: StoredObject) { directory.unlink(object.file) }

    /// Removes all objects. The caller holds the write lock and has removed all entries.
    func removeAll() {
        for folder in directory.names(in: CacheLayout.objects) {
            let path = "\(CacheLayout.objects)/\(folder)"
            for name in directory.names(in: path) { directory.removeTree("\(path)/\(name)") }
            // Folders stay, because the next objects need them.
            if directory.status(of: path)?.isDirectory == false { directory.unlink(path) }
        }
    }

    // MARK: Looking and verifying

    /// Whether an object's file has the size and the modification time that the index records. `isChecked`: the caller
    /// has just checked the object's folder.
    func isWhole(_ object: StoredObject, isChecked: Bool = false) -> Bool {
        isThere(object, isChecked: isChecked) { $0.pointee.isRegularFile && $0.pointee.modified == object.modified }
    }

    /// Whether something of the object's size is at its path, and `fits` accepts its status. Links are not followed.
    func isThere(
        _ object: StoredObject, isChecked: Bool = false, _ fits: (UnsafePointer<stat>) -> Bool = { _ in true }
    ) -> Bool {
        guard isChecked || bestEffort({ try checkFolder(of: object) }) != nil else { return false }
        // A status that is set and returned is 144 bytes that are written five times.
        return withUnsafeTemporaryAllocation(of: stat.self, capacity: 1) { buffer in
            let status = buffer.baseAddress!
            let result = object.withFile { fstatat(directory.version.raw, $0, status, AT_SYMLINK_NOFOLLOW) }
            return result == 0 && Int64(status.pointee.st_size) == object.size && fits(status)
        }
    }

    /// Returns the name of one of the 256 folders: two hexadecimal digits.
    static func folderName(_ number: UInt8) -> String {
        // Formatting a number costs as much as the rest of a folder's check.
        let digits: StaticString = "0123456789abcdef"
        return String(unsafeUninitializedCapacity: 2) { text in
            text[0] = digits.utf8Start[Int(number >> 4)]
            text[1] = digits.utf8Start[Int(number & 15)]
            return 2
        }
    }

    func names(inFolder number: UInt8) throws(StorageError) -> Set<String> {
        // Directory entries are names only: each is checked later without following it.
        let folder = "\(CacheLayout.objects)/\(Self.folderName(number))"
        return Set(FileListing.names(in: try directory.open(folder, O_RDONLY | O_DIRECTORY)))
    }

    /// Returns the names of everything in `objects` except the 256 folders.
    func namesBesideFolders() -> [String] {
        let folders = Set((UInt8.min...UInt8.max).map(Self.folderName))
        return directory.names(in: CacheLayout.objects).filter { !folders.contains($0) }
    }

    func path(named name: String) -> String { directory.path("\(CacheLayout.objects)/\(name)") }

    /// Returns the status of a name, without following it; nil when there is nothing.
    func status(named name: String) -> stat? { directory.status(of: "\(CacheLayout.objects)/\(name)") }

    func openFile(named name: String) throws(StorageError) -> FileDescriptor {
        try directory.openFile("\(CacheLayout.objects)/\(name)", O_RDONLY)
    }

    /// Removes a file, or an empty folder. Returns false when something remains.
    func remove(named name: String) -> Bool {
        directory.unlink("\(CacheLayout.objects)/\(name)")
        return status(named: name) == nil
    }
}

extension CacheDirectory {
    package var objects: ObjectStore { ObjectStore(directory: self) }
}

extension StoredObject {
    /// The path below `v1`. It cannot lead elsewhere, because hash and extension are checked when they are read.
    fileprivate var file: String { path(below: "objects/") }

    /// Calls `body` with `file` as a C string.
    fileprivate func withFile<Value>(_ body: (UnsafePointer<CChar>) -> Value) -> Value {
        let folder: StaticString = "objects/"
        return withUnsafeTemporaryAllocation(byteCount: 96, alignment: 8) { buffer in
            let start = buffer.baseAddress!
            start.copyMemory(from: folder.utf8Start, byteCount: folder.utf8CodeUnitCount)
            let end = folder.utf8CodeUnitCount + write(nameTo: start + folder.utf8CodeUnitCount)
            start.storeBytes(of: 0, toByteOffset: end, as: UInt8.self)
            return body(UnsafePointer(start.assumingMemoryBound(to: CChar.self)))
        }
    }

    /// The number of the object's folder, 0 to 255.
    var folderNumber: UInt8 { UInt8(truncatingIfNeeded: digest.prefix >> 56) }

    fileprivate var folder: String { "\(CacheLayout.objects)/\(ObjectStore.folderName(folderNumber))" }
}
