import KFImaging
import KFSystem

/// A small stand-in for an image, which a page shows until the image is there.
public enum ImagePlaceholder: String, Sendable, CaseIterable {
    /// The ThumbHash of the first frame in base 64: a blurred picture in some 25 bytes, with transparency.
    case thumbhash
    /// The average colour of all pixels of the first frame in linear light, as `#rrggbb`. Pixels count as much as they are
    /// opaque.
    case color

    /// The longest side of the picture from which a ThumbHash is made, in pixels.
    private static let reduction = DownsamplingImageProcessor(width: 100, height: 100)

    /// Returns the placeholder of an image. For a ThumbHash, a side above 100 pixels is reduced to 100 first.
    ///
    /// - Throws: the errors of a resize.
    public func value(of image: Image) throws(ImagingError) -> String {
        switch self {
        case .thumbhash:
            let small = try Self.reduction.process(.image(image.firstFrame), options: .init())
            return Base64.encode(try ThumbHash.bytes(of: small.bitmap))
        case .color: return String(try AverageColor(image.bitmap).color.hexadecimal.prefix(7))
        }
    }
}
