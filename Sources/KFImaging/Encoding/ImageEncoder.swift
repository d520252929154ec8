/// Encodes to every format whose ``ImageFormat/isEncodable`` is true.
public enum ImageEncoder {
    /// Encodes an image. A format without animation gets the first frame.
    ///
    /// PNG, JPEG and WebP carry the colour profile. GIF cannot: its pixels are converted to sRGB. GIF pixels are either
    /// opaque or transparent: those less than half opaque become transparent, unless the options have a background.
    ///
    /// - Throws: `unsupported` for a format that cannot be written, `transparencyNeedsBackground` for a picture with
    ///   transparent pixels in a format without alpha, `encodingFailed` for a size that the format cannot hold,
    ///   `outOfMemory`.
    public static func encode(
        _ image: Image, as format: ImageFormat, options: EncodeOptions = .init()
    ) throws(ImagingError) -> [UInt8] {
        guard let writer = format.codec.writer else { throw .unsupported(format, feature: "encoding") }
        return try writer.encode(options.convertsToSRGB ? image.convertedToSRGB() : image, options: options)
    }
}
