import Glibc
import KFStorage

/// A file of the disk cache, held open: what it holds stays readable when the entry is evicted meanwhile.
public final class CachedFile: Sendable {
    private let file: FileDescriptor
    let entry: Entry
    /// Where it lies now. The file is read-only, and is the cache's.
    public let path: String

    init(_ file: consuming FileDescriptor, entry: Entry, path: String) {
        self.file = file
        self.entry = entry
        self.path = path
    }

    /// In bytes.
    public var size: Int64 { entry.object.size }
    /// 64 lowercase hexadecimal digits.
    public var sha256: String { entry.object.digest.hex }

    /// All of it; blocks on the disk.
    package func readAll() throws(KingfisherError) -> [UInt8] {
        do {
            guard lseek(file.raw, 0, SEEK_SET) == 0 else {
                throw StorageError.system(call: "lseek", path: path, errno: errno)
            }
            return try file.readAll(expected: Int(size))
        } catch let error as StorageError {
            throw KingfisherError(reading: error)
        } catch {
            preconditionFailure("readAll throws storage errors only: \(error)")
        }
    }

    /// Writes a copy: a reflink where the file system can, else inside the kernel, else by reading and writing.
    func copy(to output: borrowing FileDescriptor) throws(StorageError) {
        try FileCopy.copy(from: file, to: output, size: size)
    }
}
