import KFImaging
import KFStorage

/// An image of the disk cache as the index knows it; its file is not open and may be evicted.
public struct StoredFile: Sendable {
    let entry: Entry
    private let directory: String

    init(_ entry: Entry, in storage: DiskStorage) {
        self.entry = entry
        directory = storage.objects
    }

    public var key: String { entry.key.key }
    public var identifier: String { entry.key.identifier }
    /// Where it lies. The file is read-only, and is the cache's.
    public var path: String { "\(directory)/\(entry.object.name)" }
    public var facts: ImageFacts { ImageFacts(entry) }
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
    var format: ImageFormat { ImageFormat.allCases.first { $0.fileExtension == object.fileExtension } ?? .png }
}
