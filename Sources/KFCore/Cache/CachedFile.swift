import Glibc
import KFImaging
import KFStorage
import Synchronization

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

/// An image of the disk cache as the index knows it; its file is not open and may be evicted.
public struct StoredFile: Sendable {
    let entry: Entry
    private let directory: CacheDirectory

    init(_ entry: Entry, in storage: DiskStorage) {
        self.entry = entry
        directory = storage.directory
    }

    /// The key of its source.
    public var key: String { entry.key.key }
    /// Of what was done to it; empty for an original.
    public var identifier: String { entry.key.identifier }
    /// Where it lies. The file is read-only, and is the cache's.
    public var path: String { directory.objects.path(of: entry.object) }
    /// What the index knows of its image.
    public var facts: ImageFacts { ImageFacts(entry) }

    /// All of it; blocks on the disk.
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
            frames: object.pixels?.frames, bytes: object.size, sha256: object.digest.hex)
    }
}

extension Entry {
    /// Objects carry the extension of the format that was sniffed.
    var format: ImageFormat { ImageFormat.allCases.first { $0.fileExtension == object.fileExtension.text } ?? .png }
}

/// What a result says about its image without decoding it.
public struct ImageFacts: Sendable, Equatable {
    /// Sniffed from the bytes; what a server called it does not matter.
    public let format: ImageFormat
    /// In pixels, upright; nil for formats that kf cannot read.
    public let width: Int?
    /// In pixels, upright; nil for formats that kf cannot read.
    public let height: Int?
    /// 1 for a still image; nil for formats that kf cannot read.
    public let frames: Int?
    /// Of the encoded image.
    public let bytes: Int64
    /// Of the encoded image, 64 hexadecimal digits.
    public let sha256: String?

    /// Whether kf can make pixels of it. What it cannot is stored and given out as it came.
    public var isDecodable: Bool { format.isDecodable }
}

/// An image in memory: its encoded bytes, its pixels, or both, and what is known of the encoded form.
final class CachedImage: Sendable {
    /// The encoded form; nil when only the pixels are at hand.
    let bytes: [UInt8]?
    let facts: ImageFacts
    /// Where the encoded form was stored; it may have been evicted since.
    let path: String?
    /// The lines of the response that say which requests it is for; nil when it is for all.
    let selection: HeaderLines?
    private let pixels: Mutex<Image?>

    /// At least one of `bytes` and `image` is there.
    init(
        bytes: [UInt8]?, image: Image? = nil, facts: ImageFacts, path: String?, selection: HeaderLines? = nil
    ) {
        self.bytes = bytes
        self.facts = facts
        self.path = path
        self.selection = selection
        pixels = Mutex(image)
    }

    /// The pixels, once they were made.
    var image: Image? { pixels.withLock { $0 } }

    /// Keeps the pixels beside the bytes. The caller has made room for them in the cache.
    func keep(_ image: Image) { pixels.withLock { $0 = image } }

    /// The same without its pixels; nil when it has no bytes.
    var encoded: CachedImage? {
        bytes.map { CachedImage(bytes: $0, facts: facts, path: path, selection: selection) }
    }

    /// In bytes, with these pixels.
    func cost(with image: Image?) -> Int { (bytes?.count ?? 0) + (image?.cost ?? 0) }
}

/// What the disk has of the keys that were asked for.
struct FoundFile: Sendable {
    /// Which of the keys.
    let index: Int
    let file: CachedFile
    /// False past its time: it has to be confirmed before it is used.
    let isFresh: Bool
    /// It lies in a lower layer: what its origin says of it cannot be written down there.
    let isBorrowed: Bool
    /// The memory cache's count of removals before the look-up on the disk.
    let removals: UInt64
}
