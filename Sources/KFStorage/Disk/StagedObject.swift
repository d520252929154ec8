import Glibc
import Synchronization

/// Bytes on their way into the cache: a file in `tmp` that is hashed while it is written. What is not published is
/// removed with the value.
package final class StagedObject: Sendable {
    private struct State: ~Copyable {
        let file: FileDescriptor
        var hash = SHA256()
        var size: Int64 = 0
        var digest: Digest?
        var modified: Int64 = 0
        var published: StoredObject?
    }

    private static let counter = Atomic<UInt64>(0)

    let directory: CacheDirectory
    /// Below `v1`.
    let name: String
    private let state: Mutex<State>

    init(_ directory: CacheDirectory) throws(StorageError) {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        let name = "tmp/\(getpid())-\(number)-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
        self.directory = directory
        self.name = name
        // Read-only from birth: what is published is not to be written to again.
        let file = try directory.open(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o444)
        state = Mutex(State(file: file))
    }

    deinit {
        if state.withLock({ $0.published == nil }) { unlinkat(directory.version.raw, name, 0) }
    }

    /// Appends; may block on the disk.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            try state.file.write(bytes)
            state.hash.update(bytes)
            state.size += Int64(bytes.count)
        }
    }

    /// Ends the writing. `synchronize` waits until the bytes are on the disk.
    package func finish(synchronize: Bool) throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            guard state.digest == nil else { return }
            if synchronize { try state.file.synchronize() }
            state.modified = try state.file.status().modified
            state.digest = state.hash.finish()
        }
    }

    /// In bytes, so far.
    package var size: Int64 { state.withLock { $0.size } }

    /// Nil before `finish`.
    package var digest: Digest? { state.withLock { $0.digest } }

    /// Moves the file to its place among the objects; a file of the same bytes is replaced. Who published it already is
    /// given the same object again: one body may be wanted under several keys.
    func publish(fileExtension: String, pixels: PixelFacts?) throws(StorageError) -> StoredObject {
        try state.withLock { state throws(StorageError) in
            if let published = state.published, isInPlace(published) { return published }
            guard let digest = state.digest, state.published == nil else {
                throw .system(call: "publish", path: directory.path(name), errno: EINVAL)
            }
            let object = StoredObject(
                digest: digest, fileExtension: fileExtension, size: state.size, modified: state.modified, pixels: pixels
            )
            let target = "objects/\(object.name)"
            let root = directory.version.raw
            if renameat(root, name, root, target) == -1 {
                guard errno == ENOENT else { throw .system(call: "rename", path: directory.path(target), errno: errno) }
                try directory.makeDirectory("objects")
                try directory.makeDirectory("objects/\(object.name.prefix(2))")
                try retry("rename", directory.path(target)) { renameat(root, name, root, target) }
            }
            state.published = object
            return object
        }
    }

    private func isInPlace(_ object: StoredObject) -> Bool {
        faccessat(directory.version.raw, "objects/\(object.name)", F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }
}

extension StagedObject {
    /// The bytes written so far, mapped from the file: before it is published, and after that too.
    package func withMappedBytes<Value>(_ body: (UnsafeRawBufferPointer) throws -> Value) throws -> Value {
        let (start, count) = try map()
        defer { if let start { munmap(start, count) } }
        return try body(UnsafeRawBufferPointer(start: start, count: count))
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
