import Glibc
import Synchronization

/// Bytes on their way into the cache: a file in `tmp`, or in `partial` when it can be resumed, that is hashed while it
/// is written. What is neither published nor kept is removed with the value.
package final class StagedObject: Sendable {
    private struct State: ~Copyable {
        let file: FileDescriptor
        var size: Int64 = 0
        var digest: Digest?
        var modified: Int64 = 0
        var published: StoredObject?
        var isKept = false
        var isSynchronized = false
    }

    let directory: CacheDirectory
    /// Below `v1`.
    let name: String
    private let isPartial: Bool
    private let hash = FollowingHash()
    private let state: Mutex<State>

    /// A file in `tmp`.
    init(_ directory: CacheDirectory) throws(StorageError) {
        // Read-only from birth: what is published is not to be written to again.
        let temporary = try directory.openTemporary(mode: 0o444)
        self.directory = directory
        name = temporary.name
        isPartial = false
        state = Mutex(State(file: temporary.file))
    }

    /// A file in `partial` whose lock is held; `rehash` is to follow if it is not empty.
    init(_ directory: CacheDirectory, partial name: String, _ file: consuming FileDescriptor) {
        self.directory = directory
        self.name = name
        isPartial = true
        state = Mutex(State(file: file))
    }

    deinit {
        guard state.withLock({ $0.published == nil && !$0.isKept }) else { return }
        if isPartial {
            PartialBody.removeFiles(name, in: directory)
        } else {
            directory.unlink(name)
        }
    }

    /// The transfer broke off: the file stays, for `DiskStorage.takePartial`. An ordinary one goes all the same.
    package func keep() { state.withLock { $0.isKept = isPartial } }

    /// Takes in what the file holds already.
    func rehash() throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            state.size = Int64(try state.file.status().st_size)
            guard lseek(state.file.raw, off_t(state.size), SEEK_SET) == off_t(state.size) else {
                throw .system(call: "lseek", path: directory.path(name), errno: errno)
            }
            try hash.catchUp(to: state.size, of: state.file.raw)
        }
    }

    /// Appends; may block on the disk.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            try state.file.write(bytes)
            state.size += Int64(bytes.count)
            hash.take(bytes, endingAt: state.size, of: state.file.raw, owner: self)
        }
    }

    /// Ends the writing. `synchronize` waits until the bytes are on the disk.
    package func finish(synchronize: Bool) throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            guard state.digest == nil else { return }
            if isPartial { try retry("chmod", directory.path(name)) { fchmod(state.file.raw, 0o444) } }
            if synchronize { try Self.synchronize(&state) }
            state.modified = try state.file.status().modified
            state.digest = try hash.finish(size: state.size, of: state.file.raw)
        }
    }

    /// Waits until what was written is on the disk.
    func synchronize() throws(StorageError) {
        try state.withLock { state throws(StorageError) in try Self.synchronize(&state) }
    }

    private static func synchronize(_ state: inout State) throws(StorageError) {
        if state.isSynchronized { return }
        try state.file.synchronize()
        state.isSynchronized = true
    }

    /// In bytes, so far.
    package var size: Int64 { state.withLock { $0.size } }

    /// Nil before `finish`.
    package var digest: Digest? { state.withLock { $0.digest } }

    /// Moves the file to its place among the objects; a file of the same bytes is replaced. Who published it already is
    /// given the same object again: one body may be wanted under several keys.
    func publish(fileExtension: String, pixels: PixelFacts?) throws(StorageError) -> StoredObject {
        try state.withLock { state throws(StorageError) in
            if let published = state.published {
                guard isInPlace(published) else {
                    throw .system(call: "publish", path: directory.path(name), errno: ENOENT)
                }
                return published
            }
            guard let digest = state.digest else {
                throw .system(call: "publish", path: directory.path(name), errno: EINVAL)
            }
            let object = StoredObject(
                digest: digest, fileExtension: fileExtension, size: state.size, modified: state.modified, pixels: pixels
            )
            let target = "objects/\(object.name)"
            let root = directory.version.raw
            if isPartial, !directory.isFile(state.file, at: name) {
                // The directory was deleted, and somebody else's body lies there now.
                throw .system(call: "rename", path: directory.path(name), errno: ENOENT)
            }
            if renameat(root, name, root, target) == -1 {
                guard errno == ENOENT else { throw .system(call: "rename", path: directory.path(target), errno: errno) }
                try directory.makeDirectory("objects")
                try directory.makeDirectory("objects/\(object.name.prefix(2))")
                try retry("rename", directory.path(target)) { renameat(root, name, root, target) }
            }
            state.published = object
            if isPartial { directory.unlink(PartialBody.facts(of: name)) }
            return object
        }
    }

    private func isInPlace(_ object: StoredObject) -> Bool {
        faccessat(directory.version.raw, "objects/\(object.name)", F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }
}

extension StagedObject {
    /// The bytes written so far, mapped from the file: before it is published, and after that too. Who calls `passed`
    /// does not need the bytes before that position in memory any more.
    package func withMappedBytes<Value>(
        _ body: (UnsafeRawBufferPointer, _ passed: @escaping (Int) -> Void) throws -> Value
    ) throws -> Value {
        let (start, count) = try map()
        defer { if let start { munmap(start, count) } }
        return try body(UnsafeRawBufferPointer(start: start, count: count)) { position in
            // They come from the file again if somebody reads them after all; a failure gives back nothing, no more.
            if let start { madvise(start, min(position, count) & ~0xffff, MADV_DONTNEED) }
        }
    }

    /// A copy of what the successful writes have written.
    package func loadWritten() throws(StorageError) -> [UInt8] {
        let (start, count) = try map()
        defer { if let start { munmap(start, count) } }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    private func map() throws(StorageError) -> (UnsafeMutableRawPointer?, Int) {
        try state.withLock { state throws(StorageError) in
            let count = Int(clamping: state.size)
            guard count > 0 else { return (nil, 0) }
            guard let start = mmap(nil, count, PROT_READ, MAP_PRIVATE, state.file.raw, 0), start != MAP_FAILED else {
                throw .system(call: "mmap", path: directory.path(name), errno: errno)
            }
            return (start, count)
        }
    }
}
