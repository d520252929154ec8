import KFImaging
import KFStorage

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
    public var path: String { directory.path(of: entry.object) }
    /// What the index knows of its image.
    public var facts: ImageFacts { ImageFacts(entry) }

    /// All of it; blocks on the disk.
    func readAll() throws(KingfisherError) -> [UInt8] {
        do {
            return try directory.open(entry.object).readAll(expected: Int(entry.object.size))
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
