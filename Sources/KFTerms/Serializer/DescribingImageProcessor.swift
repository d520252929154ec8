import KFImaging
import KFSystem

/// Makes a pixel that carries the description of an image in its metadata, for `DescriptionSerializer`.
///
/// Only the values live on, so that no picture is held while the description is stored.
package struct DescribingImageProcessor: ImageProcessor, OwnDecoding {
    let level: DescriptionLevel
    private let copiesUndecoded: Bool

    /// With `copiesUndecoded`, the file of a format that is not decoded stands in place of its description, which has no
    /// values; see `EncodeOptions`.
    package init(_ level: DescriptionLevel, copiesUndecoded: Bool = false) {
        (self.level, self.copiesUndecoded) = (level, copiesUndecoded)
    }

    package var identifier: String {
        "\(DescriptionSerializer.step)\(level.name)\(copiesUndecoded ? ",undecoded=copy" : "")"
    }

    /// The lower levels decode a JPEG at a reduced size.
    private var reduces: Bool { level < .color }

    package var ownInput: FirstInput { reduces ? .bytes : .image }

    package func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        var decode = options.decode
        decode.firstFrameOnly = true
        var source: PixelSize?
        let minimum = { (info: ImageInfo) -> PixelSize? in
            guard info.format == .jpeg, reduces else { return nil }
            let size = PixelSize(width: info.width, height: info.height)
            source = size
            return level == .dhash ? LumaSketch.enoughToHash : LumaSketch.enoughToMeasure(size)
        }
        let frame = try item.image(decode, minimumSize: minimum).firstFrame
        return try Allowance.within(options.decode.limits, fileBytes: nil) { () throws(ImagingError) in
            let values = try DescribedValues(of: frame, source: source, level)
            var pixel = Image(try Bitmap(width: 1, height: 1, format: .gray))
            pixel.metadata = ImageMetadata(xmp: DescriptionSerializer.mark(values))
            pixel.warnings = frame.warnings
            return pixel
        }
    }
}

/// A serializer that keeps an image's description in place of the image: in the metadata of a PNG of one pixel.
///
/// As an image of its own, made from the original, a description is found, evicted, removed, verified and uploaded as all
/// processed images are. The tables of the index need not change. Each level has an entry of its own.
package struct DescriptionSerializer: CacheSerializer {
    private let copiesUndecoded: Bool

    package init(copiesUndecoded: Bool = false) { self.copiesUndecoded = copiesUndecoded }

    package func copies(_ format: ImageFormat) -> Bool { copiesUndecoded && !format.isDecodable }

    /// The step of the processor, before the level.
    static let step = "sketch:"
    private static let name = "described:"

    /// The revision of the algorithms follows the name.
    package var identifier: String { "\(Self.name)4" }

    /// A GLOB pattern of the steps at the end of the identifier of each entry with a description that is comparable with
    /// those of today.
    package static let steps = "|>\(step)*|>\(name)[234]"

    /// The pattern for `|>` and the identifier of each entry with a description, of any revision.
    package static let identifiers = "*|>\(step)*|>\(name)[0-9]*"

    /// Returns whether an entry with this identifier keeps a description, of any revision.
    package static func isDescription(_ identifier: String) -> Bool {
        guard identifier.utf8.last.map({ $0 &- 0x30 < 10 }) == true else { return false }
        var text = identifier[...]
        while text.utf8.last.map({ $0 &- 0x30 < 10 }) == true { text.removeLast() }
        guard text.hasSuffix("|>\(name)") else { return false }
        text.removeLast(name.utf8.count + 2)
        let start = text.lastIndex(of: ">").map(text.index(after:)) ?? text.startIndex
        return text[start...].hasPrefix(step)
    }

    private static let start = "description=\""

    /// Returns the metadata that carries the values.
    static func mark(_ values: DescribedValues) -> [UInt8] { Array("\(start)\(values.text)\"".utf8) }

    package func data(
        for image: Image, original: ImageFormat?
    ) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat) {
        (PixelFile.png(xmp: image.metadata?.xmp ?? []), .png)
    }

    /// Returns the description in a file that this serializer wrote; nil for any other file.
    package static func description(in file: [UInt8]) -> DescribedValues? {
        guard file.count < 1024, PixelFile.isPNG(file), let start = file.firstRange(of: start.utf8)?.upperBound else {
            return nil
        }
        return DescribedValues(text: file[start...].prefix { $0 != UInt8(ascii: "\"") })
    }
}

extension HeaderLines {
    /// The hash in the description that the entry keeps, so that a search for duplicates opens no file.
    package var dhash: UInt64? { self[.dhash].flatMap { UInt64($0, radix: 16) } }

    /// Returns the lines with the hash of a description.
    package func describing(_ dhash: UInt64?) -> HeaderLines {
        noting(.dhash, dhash.map(ImageDescription.text(ofHash:)))
    }
}
