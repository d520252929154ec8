import Glibc
import KFImaging
import KFStorage
import Synchronization

/// An open file of the disk cache. Its bytes stay readable when the entry is evicted meanwhile.
public final class CachedFile: Sendable {
    private let file: FileDescriptor
    let entry: Entry
    /// The path at the time of opening. The file is read-only and belongs to the cache.
    public let path: String

    init(_ file: consuming FileDescriptor, entry: Entry) {
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
        do {
            guard lseek(file.raw, 0, SEEK_SET) == 0 else {
                throw StorageError.system(call: "lseek", path: path, errno: errno)
            }
            return try file.readAll(expected: Int(size), limit: limit)
        } catch let error as StorageError {
            throw KingfisherError(reading: error)
        } catch {
            preconditionFailure("readAll throws storage errors only: \(error)")
        }
    }

    /// Returns `count` bytes from a position on. Throws if the file is shorter. Blocks.
    func read(at position: Int64, count: Int) throws(KingfisherError) -> [UInt8] {
        do {
            return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                while filled < count {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                    let read = try retry("read", path) {
                        pread(file.raw, rest.baseAddress, rest.count, off_t(position + Int64(filled)))
                    }
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

    /// Returns another descriptor of the file, which the caller closes.
    func duplicate() throws(StorageError) -> Int32 {
        try retry("fcntl", path) { fcntl(file.raw, F_DUPFD_CLOEXEC, 0) }
    }

    /// Writes a copy of the file. It is a reflink if the file system supports that, or else a copy in the kernel, or
    /// else by reading and writing.
    func copy(to output: borrowing FileDescriptor) throws(StorageError) {
        try FileCopy.copy(from: file, to: output, size: size)
    }
}

/// An image of the disk cache as the index describes it. Its file is not open and may be evicted.
public struct StoredFile: Sendable {
    let entry: Entry
    private let directory: CacheDirectory

    init(_ entry: Entry, in storage: DiskStorage) {
        self.entry = entry
        directory = storage.directory
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
    func open() throws(KingfisherError) -> CachedFile {
        do {
            return CachedFile(try directory.objects.open(entry.object), entry: entry)
        } catch {
            throw KingfisherError(reading: error)
        }
    }

    /// Returns all bytes; blocks on the disk.
    func readAll() throws(KingfisherError) -> [UInt8] {
        do {
            return try directory.objects.open(entry.object).readAll(expected: Int(entry.object.size))
        } catch {
            throw KingfisherError(reading: error)
        }
    }
}

extension ImageFacts {
    init(_ entry: Entry) {
        let object = entry.object
        self.init(
            format: entry.format, width: object.pixels?.width, height: object.pixels?.height,
            frames: object.pixels?.frames, bytes: object.size, digest: object.digest)
    }
}

extension ImageFacts {
    /// Hashes the bytes.
    init(of bytes: [UInt8], _ format: ImageFormat, _ pixels: PixelFacts?) {
        self.init(
            format: format, width: pixels?.width, height: pixels?.height, frames: pixels?.frames,
            bytes: Int64(bytes.count), digest: bytes.withUnsafeBytes { SHA256.hash($0) })
    }
}

extension Entry {
    /// The format, from the object's file extension, which follows the sniffed bytes.
    var format: ImageFormat { ImageFormat(fileExtension: object.fileExtension.text) ?? .png }
}

/// Facts about an image that are known without decoding it.
public struct ImageFacts: Sendable, Equatable {
    /// The format, sniffed from the bytes and not from the server's Content-Type.
    public let format: ImageFormat
    /// The width in pixels, upright; nil for formats that kf cannot read.
    public let width: Int?
    /// The height in pixels, upright; nil for formats that kf cannot read.
    public let height: Int?
    /// The number of frames: 1 for a still image; nil for formats that kf cannot read.
    public let frames: Int?
    /// The size of the encoded image in bytes.
    public let bytes: Int64
    let digest: Digest?

    /// The SHA-256 of the encoded image: 64 hexadecimal digits; nil when it is not known.
    public var sha256: String? { digest?.hex }

    /// Whether kf can decode the format. Other images are stored and delivered as received.
    public var isDecodable: Bool { format.isDecodable }
}

/// An image in memory: its encoded bytes, its pixels or both, and the facts about the encoded image.
final class CachedImage: Sendable {
    /// The encoded image; nil when only the pixels are present.
    let bytes: [UInt8]?
    let facts: ImageFacts
    /// The path where the encoded image was stored; it may have been evicted since.
    let path: String?
    /// The response headers that decide which requests the image is for; nil when it is for all.
    let selection: HeaderLines?
    private let pixels: Mutex<Image?>

    /// Requires at least one of `bytes` and `image`.
    init(
        bytes: [UInt8]?, image: Image? = nil, facts: ImageFacts, path: String?, selection: HeaderLines? = nil
    ) {
        self.bytes = bytes
        self.facts = facts
        self.path = path
        self.selection = selection
        pixels = Mutex(image)
    }

    /// The pixels; nil until they are decoded.
    var image: Image? { pixels.withLock { $0 } }

    /// Keeps the pixels beside the bytes. The caller has reserved room for them in the memory cache.
    func keep(_ image: Image) { pixels.withLock { $0 = image } }

    /// A copy without the pixels; nil when there are no bytes.
    var encoded: CachedImage? {
        bytes.map { CachedImage(bytes: $0, facts: facts, path: path, selection: selection) }
    }

    /// Returns the cost in bytes, with these pixels.
    func cost(with image: Image?) -> Int { (bytes?.count ?? 0) + (image?.cost ?? 0) }
}

/// A file on the disk that was found for one of several keys.
struct FoundFile: Sendable {
    let file: CachedFile
    /// The cache that was looked into.
    let cache: ImageCache
    /// Whether the file is fresh. A stale file must be revalidated before use.
    let isFresh: Bool
    /// Whether the file lies in a lower layer, where a revalidation cannot be recorded.
    let isBorrowed: Bool
    /// The memory cache's count of removals before the look-up on the disk.
    let removals: UInt64

    var entry: Entry { file.entry }
}
