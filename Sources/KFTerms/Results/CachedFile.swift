import Glibc
import KFImaging
import KFStorage
import Synchronization

/// An open file of the disk cache. Its bytes stay readable when the entry is evicted meanwhile.
public final class CachedFile: Sendable {
    private let file: FileDescriptor
    package let entry: Entry
    /// The path at the time of opening. The file is read-only and belongs to the cache.
    public let path: String

    package init(_ file: consuming FileDescriptor, entry: Entry) {
        path = file.path
        self.file = file
        self.entry = entry
    }

    /// The size in bytes.
    public var size: Int64 { entry.object.size }
    /// The SHA-256 of the bytes: 64 lowercase hexadecimal digits.
    public var sha256: String { entry.object.digest.hex }

    /// Returns all bytes; blocks on the disk. Throws for more than `limit` bytes, by default 1 GiB.
    package func readAll(limit: Int = FileDescriptor.memoryLimit) throws(KingfisherError) -> [UInt8] {
        do throws(StorageError) {
            // Other threads may read the file at the same time.
            return try file.readAll(expected: Int(size), limit: limit, from: 0)
        } catch {
            throw KingfisherError(reading: error)
        }
    }

    /// Returns `count` bytes from a position on. Throws if the file is shorter. Blocks.
    package func read(at position: Int64, count: Int) throws(KingfisherError) -> [UInt8] {
        do {
            return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                while filled < count {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                    let read = try file.read(at: position + Int64(filled), into: rest)
                    guard read > 0 else { throw StorageError.system(call: "read", path: path, errno: EIO) }
                    filled += read
                }
            }
        } catch let error as StorageError {
            throw KingfisherError(reading: error)
        } catch {
            preconditionFailure("reading throws storage errors only: \(error)")
        }
    }

    /// Returns the digest of the bytes as they are, which damage may have changed. Blocks.
    package func digest() throws(KingfisherError) -> Digest {
        do throws(StorageError) { return try file.digest(from: 0) } catch { throw KingfisherError(reading: error) }
    }

    /// Returns another descriptor of the file, which the caller closes.
    package func duplicate() throws(StorageError) -> Int32 {
        try retry("fcntl", path) { fcntl(file.raw, F_DUPFD_CLOEXEC, 0) }
    }

    /// Writes a copy of the file. It is a reflink if the file system supports that, or else a copy in the kernel, or
    /// else by reading and writing.
    package func copy(to output: borrowing FileDescriptor) throws(StorageError) {
        try FileCopy.copy(from: file, to: output, size: size)
    }
}

extension DiskStorage {
    /// The number of entries of one key that are tried, where a store replaces each before its file is open.
    private static let mostReplacements = 4

    /// Opens the file of a key, if `isUsable` accepts its entry. Nil is a miss. Blocks.
    package func file(
        for key: EntryKey, where isUsable: (Entry) -> Bool = { _ in true }
    ) throws(StorageError) -> CachedFile? {
        var last: StoredObject?
        for _ in 0..<Self.mostReplacements {
            guard let entry = try entry(for: key), entry.object != last, isUsable(entry) else { return nil }
            if let file = try open(entry) { return CachedFile(file, entry: entry) }
            last = entry.object
        }
        return nil
    }
}

/// An image of the disk cache as the index describes it. Its file is not open and may be evicted.
public struct StoredFile: Sendable {
    package let entry: Entry
    private let directory: CacheDirectory

    package init(_ entry: Entry, in directory: CacheDirectory) {
        self.entry = entry
        self.directory = directory
    }

    /// The key of the image's source.
    public var key: String { entry.key.key }
    /// The identifier of the processor that made the image; empty for an original.
    public var identifier: String { entry.key.identifier }
    /// The path of the file. It is read-only and belongs to the cache.
    public var path: String { directory.objects.path(of: entry.object) }
    /// The facts about the image that the index holds.
    public var facts: ImageFacts { ImageFacts(entry) }

    /// Opens the file; blocks on the disk.
    package func open() throws(KingfisherError) -> CachedFile {
        do {
            return CachedFile(try directory.objects.open(entry.object), entry: entry)
        } catch {
            throw KingfisherError(reading: error)
        }
    }

    /// Returns all bytes; blocks on the disk.
    package func readAll() throws(KingfisherError) -> [UInt8] {
        do {
            return try directory.objects.open(entry.object).readAll(expected: Int(entry.object.size))
        } catch {
            throw KingfisherError(reading: error)
        }
    }
}
