/// Writes images.
public enum ImageEncoder {
    /// Encodes an image; of an animation the first frame, where the format has no animations.
    ///
    /// PNG, JPEG and WebP carry the profile. GIF has no place for one: its pixels are converted to sRGB. GIF knows
    /// pixels that are opaque and pixels that are not: what is less than half opaque becomes transparent, unless a
    /// background is given to put behind it.
    ///
    /// - Throws: `unsupported` for a format that cannot be written, `transparencyNeedsBackground` for a picture with
    ///   transparent pixels in a format without, `encodingFailed` for a size that the format cannot hold,
    ///   `outOfMemory`.
    public static func encode(
        _ image: Image, as format: ImageFormat, options: EncodeOptions = .init()
    ) throws(ImagingError) -> [UInt8] {
        guard format.isEncodable else { throw .unsupported(format, feature: "encoding") }
        var image = image
        if options.convertsToSRGB { image = try image.convertedToSRGB() }
        switch format {
        case .png: return try PNGEncoder.encode(image, options: options)
        case .jpeg: return try JPEGEncoder.encode(image, options: options)
        case .gif: return try GIFEncoder.encode(image.convertedToSRGB(), options: options)
        default: return try WebPEncoder.encode(image, options: options)
        }
    }
}
