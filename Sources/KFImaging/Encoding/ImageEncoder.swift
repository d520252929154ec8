/// Encodes to every format whose ``ImageFormat/isEncodable`` is true.
public enum ImageEncoder {
    /// Encodes an image. A format without animation gets the first frame.
    ///
    /// PNG, JPEG, WebP and AVIF carry the colour profile. GIF cannot: its pixels are converted to sRGB. GIF pixels are
    /// either opaque or transparent: those less than half opaque become transparent, unless the options have a
    /// background.
    ///
    /// AVIF needs libavif, which is loaded on first use. Samples of 16 bits become 10 bits, or 12 in a lossless AVIF;
    /// alpha is always lossless. libaom cannot be interrupted, so that a time limit takes effect only before its calls.
    /// libavif before 1.0 cannot write how often an animation plays; players repeat it for ever.
    ///
    /// - Throws: `unsupported` for a format that cannot be written, `missingLibrary` for AVIF without libavif,
    ///   `transparencyNeedsBackground` for a picture with transparent pixels in a format without alpha,
    ///   `encodingFailed` for a size that the format cannot hold, `outOfMemory`.
    public static func encode(
        _ image: Image, as format: ImageFormat, options: EncodeOptions = .init()
    ) throws(ImagingError) -> [UInt8] {
        let codec = format.codec
        guard codec.isEncodable else { throw .unsupported(format, feature: "encoding") }
        var image = codec.supportsAnimation ? image : image.firstFrame
        if options.convertsToSRGB { image = try image.convertedToSRGB() }
        image.metadata = options.keepsMetadata ? image.metadata?.describing(image.bitmap.size) : nil
        if !codec.supportsAlpha {
            image = try image.mapBitmaps { (bitmap) throws(ImagingError) in
                if bitmap.format.hasAlpha, options.background?.alpha != 255, !bitmap.isOpaque {
                    throw .transparencyNeedsBackground(format)
                }
                return try bitmap.flattened(onto: options.background ?? .black)
            }
        }
        return try codec.encode(image, options: options)
    }
}
