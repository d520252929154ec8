import KFImaging
import KFSystem

/// A small stand-in for an image, which a page shows until the image is there.
public enum ImagePlaceholder: String, Sendable, CaseIterable {
    /// The ThumbHash of the first frame in base 64: a blurred picture in some 25 bytes, with transparency.
    case thumbhash
    /// The average colour of the first frame in linear light, as `#rrggbb`. Pixels count as much as they are opaque.
    case color

    /// The longest side of the picture from which a placeholder is made, in pixels.
    private static let reduction = DownsamplingImageProcessor(width: 100, height: 100)

    /// Returns the placeholder of an image. A side above 100 pixels is reduced to 100 first.
    ///
    /// - Throws: the errors of a resize.
    public func value(of image: Image) throws(ImagingError) -> String {
        let small = try Self.reduction.process(.image(image.firstFrame), options: .init())
        switch self {
        case .thumbhash: return Base64.encode(try ThumbHash.bytes(of: small.bitmap))
        case .color: return String(try AverageColor.color(of: small).hexadecimal.prefix(7))
        }
    }

    /// The processor whose result the serializer gets: a large picture is decoded at a reduced size.
    package func processor(after processor: any ImageProcessor) -> any ImageProcessor {
        processor.append(another: Self.reduction)
    }
}

/// A serializer that keeps an image's placeholder in place of the image: in the metadata of a PNG of one pixel.
///
/// As an image of its own, made from the original, a placeholder is found, evicted, removed, verified and uploaded as all
/// processed images are. The tables of the index need not change.
package struct PlaceholderSerializer: CacheSerializer {
    private let placeholder: ImagePlaceholder

    package init(_ placeholder: ImagePlaceholder) { self.placeholder = placeholder }

    package var identifier: String { "placeholder:\(placeholder.rawValue)" }

    private static let mark = "placeholder=\""

    package func data(
        for image: Image, original: ImageFormat?
    ) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat) {
        var pixel = Image(try Bitmap(width: 1, height: 1, format: .gray))
        pixel.metadata = ImageMetadata(xmp: Array("\(Self.mark)\(try placeholder.value(of: image))\"".utf8))
        var options = EncodeOptions()
        options.keepsMetadata = true
        return (try ImageEncoder.encode(pixel, as: .png, options: options), .png)
    }

    /// Returns the placeholder in a file that this serializer wrote; nil for any other file.
    package static func value(in file: [UInt8]) -> String? {
        guard file.count < 1024, let start = file.firstRange(of: mark.utf8)?.upperBound else { return nil }
        let value = file[start...].prefix { $0 != UInt8(ascii: "\"") }
        // Text that a page can have as an attribute as it is.
        let isPlain = value.allSatisfy { byte in
            UnicodeScalar(byte).properties.isAlphabetic && byte < 128 || "0123456789+/=#".utf8.contains(byte)
        }
        return isPlain ? String(decoding: value, as: UTF8.self) : nil
    }
}
