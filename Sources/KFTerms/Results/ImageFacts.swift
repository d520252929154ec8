import KFImaging
import KFStorage

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
    package let digest: Digest?

    package init(format: ImageFormat, _ pixels: PixelFacts?, bytes: Int64, digest: Digest?) {
        self.format = format
        width = pixels?.width
        height = pixels?.height
        frames = pixels?.frames
        self.bytes = bytes
        self.digest = digest
    }

    /// The SHA-256 of the encoded image: 64 hexadecimal digits; nil when it is not known.
    public var sha256: String? { digest?.hex }

    /// Whether kf can decode the format. Other images are stored and delivered as received.
    public var isDecodable: Bool { format.isDecodable }
}

extension ImageFacts {
    package var measures: ImageMeasures { ImageMeasures(format: format, width: width, height: height, bytes: bytes) }

    package init(_ entry: Entry) {
        let object = entry.object
        self.init(format: entry.format, object.pixels, bytes: object.size, digest: object.digest)
    }

    /// Hashes the bytes.
    package init(of bytes: [UInt8], _ format: ImageFormat, _ pixels: PixelFacts?) {
        self.init(
            format: format, pixels, bytes: Int64(bytes.count), digest: bytes.withUnsafeBytes { SHA256.hash($0) })
    }
}

extension Entry {
    /// The measures of the original: of its own bytes, or of what it was made of; nil if they are not known.
    package var originalMeasures: ImageMeasures? {
        HeaderLines(freshness).measures ?? (key.isOriginal ? ImageFacts(self).measures : nil)
    }

    /// The header lines about the image itself, which a confirmation by the origin leaves as they are.
    package var ownLines: HeaderLines {
        HeaderLines(nil).measuring(originalMeasures).describing(HeaderLines(freshness).dhash)
    }

    /// The format, from the object's file extension, which follows the sniffed bytes.
    package var format: ImageFormat { ImageFormat(fileExtension: object.fileExtension.text) ?? .png }
}
