import KFImaging
import KFSystem

/// A figure of an image, for lists of images: to filter them, to sort them, and to find those that look alike.
public enum ImageMeasure: String, Sendable, CaseIterable {
    /// ``ImageDescription/dhash`` in 16 hexadecimal digits.
    case dhash
    /// ``ImageDescription/entropy``.
    case entropy
    /// ``ImageDescription/mean``.
    case mean
    /// ``ImageDescription/sharpness``.
    case sharpness
    /// ``ImageDescription/color``.
    case color
    /// ``ImageDescription/isTransparent``.
    case transparent
    /// The number of frames, which is known without decoding the image.
    case frames
}

/// Figures and placeholders of an image, computed from its first frame, upright and reduced to at most 256 pixels a side;
/// the colour and the transparency from all pixels.
///
/// The luma is (19595 R + 38470 G + 7471 B + 32768) >> 16 of the samples as they are, over mid grey (128).
public struct ImageDescription: Sendable, Equatable {
    /// The difference hash: the luma is resampled to 9 × 8 pixels, and a bit is 1 where the pixel at the right is
    /// brighter. Images that look alike differ in few bits.
    public let dhash: UInt64
    /// The information of a pixel's luma, in bits: 0 for one colour, 8 at most. Rounded to 0.0001.
    public let entropy: Double
    /// The average luma, from 0 to 255. Rounded to 0.01.
    public let mean: Double
    /// The variance of the Laplacian of the luma; blurred pictures have small ones. Rounded to 0.01.
    public let sharpness: Double
    /// Whether a pixel is not opaque.
    public let isTransparent: Bool
    /// The average colour in linear light, as ``ImagePlaceholder/color``.
    public let color: String
    /// The ThumbHash in base 64, as ``ImagePlaceholder/thumbhash``.
    public let thumbhash: String

    /// The reduction before an image is described. A large picture is decoded at a reduced size.
    package static let reduction = SketchImageProcessor()

    /// Describes an image.
    ///
    /// - Throws: the errors of a resize.
    public init(of image: Image) throws(ImagingError) {
        let small = try Self.reduction.process(.image(image), options: .init())
        let measures = try PictureMeasures(of: small.bitmap)
        dhash = measures.dhash
        entropy = (measures.entropy * 10_000).rounded() / 10_000
        mean = (measures.mean * 100).rounded() / 100
        sharpness = (measures.sharpness * 100).rounded() / 100
        isTransparent = !(try AverageColor(of: small).isOpaque)
        color = try ImagePlaceholder.color.value(of: small)
        thumbhash = try ImagePlaceholder.thumbhash.value(of: small)
    }

    /// Returns a placeholder.
    public func value(of placeholder: ImagePlaceholder) -> String { placeholder == .color ? color : thumbhash }

    /// The hash in 16 hexadecimal digits.
    public var dhashText: String { Self.text(ofHash: dhash) }

    /// Returns a hash in 16 hexadecimal digits.
    public static func text(ofHash dhash: UInt64) -> String {
        let digits = String(dhash, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

/// A serializer that keeps an image's description in place of the image: in the metadata of a PNG of one pixel.
///
/// As an image of its own, made from the original, a description is found, evicted, removed, verified and uploaded as all
/// processed images are. The tables of the index need not change. One entry has all values, whichever are wanted first.
package struct DescriptionSerializer: CacheSerializer {
    package init() {}

    private static let name = "described:"

    /// The revision of the algorithms follows the name.
    package var identifier: String { "\(Self.name)2" }

    /// The steps at the end of the identifier of each entry with a description, behind `|>` and the steps before.
    package static let steps = "|>\(ImageDescription.reduction.identifier)|>\(DescriptionSerializer().identifier)"

    /// The pattern for `|>` and the identifier of each entry with a description, of any revision.
    package static let identifiers = "*|>\(ImageDescription.reduction.identifier)|>\(Self.name)[0-9]*"

    /// Returns whether an entry with this identifier keeps a description, of any revision.
    package static func isDescription(_ identifier: String) -> Bool {
        guard identifier.utf8.last.map({ $0 &- 0x30 < 10 }) == true else { return false }
        var text = "|>\(identifier)"[...]
        while text.utf8.last.map({ $0 &- 0x30 < 10 }) == true { text.removeLast() }
        return text.hasSuffix("|>\(ImageDescription.reduction.identifier)|>\(Self.name)")
    }

    private static let mark = "description=\""

    package func data(
        for image: Image, original: ImageFormat?
    ) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat) {
        var pixel = Image(try Bitmap(width: 1, height: 1, format: .gray))
        let text = "\(Self.mark)\(try ImageDescription(of: image).text)\""
        pixel.metadata = ImageMetadata(xmp: Array(text.utf8))
        var options = EncodeOptions()
        options.keepsMetadata = true
        return (try ImageEncoder.encode(pixel, as: .png, options: options), .png)
    }

    /// Returns the description in a file that this serializer wrote; nil for any other file.
    package static func description(in file: [UInt8]) -> ImageDescription? {
        guard file.count < 1024, let start = file.firstRange(of: mark.utf8)?.upperBound else { return nil }
        return ImageDescription(text: file[start...].prefix { $0 != UInt8(ascii: "\"") })
    }
}

extension HeaderLines {
    private static let hashName = "kf-dhash"

    /// The hash in the description that the entry keeps, so that a search for duplicates opens no file.
    package var dhash: UInt64? { all(Self.hashName).first.flatMap { UInt64($0, radix: 16) } }

    /// Returns the lines with the hash of a description.
    package func describing(_ dhash: UInt64?) -> HeaderLines {
        dhash.map { updated(by: HeaderLines([(Self.hashName, ImageDescription.text(ofHash: $0))])) } ?? self
    }
}

extension ImageDescription {
    fileprivate var text: String {
        "\(dhashText) \(entropy) \(mean) \(sharpness) \(isTransparent) \(color) \(thumbhash)"
    }

    /// Nil for any text that is not a description's, so that the values need no escapes in a page or a list.
    fileprivate init?(text: ArraySlice<UInt8>) {
        let parts = text.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 7, let hash = UInt64(parts[0], radix: 16), let entropy = Double(parts[1]),
            let mean = Double(parts[2]), let sharpness = Double(parts[3]), let isTransparent = Bool(parts[4]),
            let color = Color(parts[5])?.hexadecimal.prefix(7), let thumbhash = Base64.decode(parts[6]),
            [entropy, mean, sharpness].allSatisfy(\.isFinite)
        else { return nil }
        dhash = hash
        (self.entropy, self.mean, self.sharpness, self.isTransparent) = (entropy, mean, sharpness, isTransparent)
        (self.color, self.thumbhash) = (String(color), Base64.encode(thumbhash))
    }
}
