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

    /// Describes an image.
    ///
    /// - Throws: the errors of a resize.
    public init(of image: Image) throws(ImagingError) {
        let frame = image.firstFrame
        let luma = try LumaSketch(frame.bitmap)
        dhash = try luma.dhash()
        let figures = try DescribedValues.Figures(of: luma)
        (entropy, mean, sharpness) = (figures.entropy, figures.mean, figures.sharpness)
        let pixels = try DescribedValues.Pixels(of: frame.bitmap)
        (isTransparent, color) = (pixels.isTransparent, pixels.color)
        thumbhash = try ImagePlaceholder.thumbhash.value(of: frame.sketched(256))
    }

    /// Returns a hash in 16 hexadecimal digits.
    public static func text(ofHash dhash: UInt64) -> String { dhash.digits(16, radix: 16) }
}
