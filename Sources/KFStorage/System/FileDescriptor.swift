import CSystem
import Glibc
import KFSystem

/// An open file that is closed at the end of its lifetime. Every call retries EINTR and throws an error with the call
/// and the path.
package struct FileDescriptor: ~Copyable, Sendable {
    package let raw: Int32
    private let folder: String?
    private let name: String

    package init(taking raw: Int32, path: String) { self.init(taking: raw, in: nil, path) }

    /// `folder` is the path of the folder, from which `path` is made when it is needed.
    init(taking raw: Int32, in folder: String?, _ name: String) {
        self.raw = raw
        self.folder = folder
        self.name = name
    }

    /// The path, for messages only.
    package var path: String { folder.map { "\($0)/\(name)" } ?? name }

    /// No file.
    static var closed: FileDescriptor { FileDescriptor(taking: -1, path: "") }

    deinit { if raw >= 0 { close(raw) } }

    /// Opens a file with O_CLOEXEC and `flags`. `directory` is a raw descriptor or AT_FDCWD.
    package static func open(
        _ name: String, in directory: Int32 = AT_FDCWD, _ flags: Int32, mode: mode_t = 0, shown path: String? = nil
    ) throws(StorageError) -> FileDescriptor {
        let shown = path ?? name
        let raw = try retry("open", shown) { name.withPath { openat(directory, $0, flags | O_CLOEXEC, mode) } }
        return FileDescriptor(taking: raw, path: shown)
    }

    /// Opens a file below a directory, the path of which is `folder`. Links are not followed.
    static func openBeneath(
        _ directory: Int32, _ name: String, _ flags: Int32, mode: mode_t = 0, shownIn folder: String
    ) throws(StorageError) -> FileDescriptor {
        // Without O_NONBLOCK the open of a planted FIFO would wait for ever.
        let raw = try retry("open", "\(folder)/\(name)") {
            name.withPath { kf_open_beneath(directory, $0, flags | O_NONBLOCK, mode) }
        }
        return FileDescriptor(taking: raw, in: folder, name)
    }

    package func status() throws(StorageError) -> stat {
        var result = stat()
        try retry("fstat", path) { fstat(raw, &result) }
        return result
    }

    /// Writes all bytes, in as many calls as needed.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = try retry("write", path) { Glibc.write(raw, rest.baseAddress, rest.count) }
            // A result of 0 without an error would repeat for ever.
            guard count > 0 else { throw .system(call: "write", path: path, errno: EIO) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    package func write(_ text: String) throws(StorageError) {
        try Array(text.utf8).withBytes { bytes throws(StorageError) in try write(bytes) }
    }

    /// Reads up to the buffer's length. Returns 0 at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(StorageError) -> Int {
        try retry("read", path) { Glibc.read(raw, buffer.baseAddress, buffer.count) }
    }

    /// Reads up to the buffer's length from a position on, which a pipe does not have, and leaves the file's own position
    /// alone. Without one, it reads from there.
    package func read(at position: Int64?, into buffer: UnsafeMutableRawBufferPointer) throws(StorageError) -> Int {
        guard let position else { return try read(into: buffer) }
        return try retry("read", path) { pread(raw, buffer.baseAddress, buffer.count, off_t(position)) }
    }

    /// Returns the SHA-256 of the file from a position on, or from its own.
    package func digest(from start: Int64? = nil) throws(StorageError) -> Digest {
        var sha = SHA256()
        try forEachPiece(from: start) { sha.update($0) }
        return sha.finish()
    }

    /// Calls `body` with the bytes of the file in pieces of up to 128 KiB, from a position on, or from its own.
    package func forEachPiece(
        from start: Int64? = nil, _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Void
    ) throws(StorageError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 64)
        defer { buffer.deallocate() }
        var position = start
        while case let count = try read(at: position, into: buffer), count > 0 {
            position? += Int64(count)
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    /// The most that is read into memory unless a caller says otherwise: the memory that the work on an image may take.
    package static let memoryLimit = 1 << 30

    /// Reads to the end of the file, from a position on or from its own. `expected` is its size if that is known. Throws
    /// EFBIG for more than `limit` bytes, before it takes memory for them.
    package func readAll(
        expected: Int = 0, limit: Int = memoryLimit, from start: Int64? = nil
    ) throws(StorageError) -> [UInt8] {
        guard expected <= limit else { throw .system(call: "read", path: path, errno: EFBIG) }
        var bytes = [UInt8](repeating: 0, count: max(expected + 1, 4096))
        var filled = 0
        while true {
            if filled == bytes.count {
                guard bytes.count <= limit else { throw .system(call: "read", path: path, errno: EFBIG) }
                bytes.append(contentsOf: repeatElement(0, count: min(bytes.count, limit - bytes.count + 1)))
            }
            let count = try bytes.withMutableBytes { buffer throws(StorageError) in
                try read(
                    at: start.map { $0 + Int64(filled) },
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
            }
            if count == 0 { break }
            filled += count
        }
        guard filled <= limit else { throw .system(call: "read", path: path, errno: EFBIG) }
        bytes.removeLast(bytes.count - filled)
        return bytes
    }

    package func synchronize() throws(StorageError) {
        try retry("fsync", path) { fsync(raw) }
    }
}

extension stat {
    /// Asks for the status of a path; nil when that fails, with the reason in `errno`.
    package init?(_ path: String, in directory: Int32 = AT_FDCWD, followingLinks: Bool = false) {
        var status = stat()
        let flags = followingLinks ? 0 : AT_SYMLINK_NOFOLLOW
        guard path.withPath({ fstatat(directory, $0, &status, flags) }) == 0 else { return nil }
        self = status
    }

    package func isSameFile(as other: stat) -> Bool { st_ino == other.st_ino && st_dev == other.st_dev }

    /// Returns whether both are of one file, which was not changed between them.
    func isSame(as other: stat) -> Bool {
        isSameFile(as: other) && st_mode == other.st_mode && st_size == other.st_size && modified == other.modified
            && st_ctim.tv_sec == other.st_ctim.tv_sec && st_ctim.tv_nsec == other.st_ctim.tv_nsec
    }

    package var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
    package var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
    package var kind: String {
        switch st_mode & S_IFMT {
        case S_IFREG: "a file"
        case S_IFLNK: "a link"
        case S_IFDIR: "a directory"
        case S_IFIFO: "a FIFO"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }
    /// The time of the last modification, in nanoseconds since 1970.
    package var modified: Int64 { Int64(st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(st_mtim.tv_nsec) }
    /// Returns the seconds from the last modification to `now`; negative for a time in the future.
    func seconds(until now: Timestamp) -> Int64 {
        // Not of `modified`, which is out of range after the year 2262.
        (now.milliseconds / 1000).subtracting(saturating: Int64(st_mtim.tv_sec))
    }
    /// Returns the seconds since the last modification. Positive also for a time in the future, as after a clock was
    /// set back.
    func age(at now: Timestamp) -> Int64 { Int64(clamping: seconds(until: now).magnitude) }
}

/// Repeats a system call while it fails with EINTR. Throws for any other -1.
@discardableResult
package func retry<Result: FixedWidthInteger & SignedInteger>(
    _ call: String, _ path: @autoclosure () -> String, _ body: () -> Result
) throws(StorageError) -> Result {
    while true {
        let result = body()
        if result != -1 { return result }
        let code = errno
        if code != EINTR { throw .system(call: call, path: path(), errno: code) }
    }
}

package enum FileListing {
    /// Returns the names in a directory without `.` and `..`; empty if it cannot be read.
    package static func names(in directory: borrowing FileDescriptor) -> [String] {
        bestEffort { () throws(StorageError) in try allNames(in: directory) } ?? []
    }

    /// Returns the names in a directory without `.` and `..`. Bytes that are not UTF-8 are kept (`RawText`).
    package static func allNames(in directory: borrowing FileDescriptor) throws(StorageError) -> [String] {
        // A duplicate, because fdopendir takes ownership of the descriptor.
        let raw = try retry("dup", directory.path) { fcntl(directory.raw, F_DUPFD_CLOEXEC, 0) }
        guard let stream = fdopendir(raw) else {
            close(raw)
            throw .system(call: "fdopendir", path: directory.path, errno: errno)
        }
        defer { closedir(stream) }
        rewinddir(stream)
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw .system(call: "readdir", path: directory.path, errno: errno) }
                return names
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { RawText.decode($0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }
}

/// Copying of whole files between descriptors: as a clone, in the kernel, or by reading and writing.
package enum FileCopy {
    package static func copy(
        from source: borrowing FileDescriptor, to target: borrowing FileDescriptor, size: Int64
    ) throws(StorageError) {
        let position = KernelCopy.copy(from: source.raw, to: target.raw, size: size)
        guard position < size else { return }
        try source.forEachPiece(from: position) { piece throws(StorageError) in try target.write(piece) }
    }
}
