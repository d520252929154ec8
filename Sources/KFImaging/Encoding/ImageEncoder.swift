/// Writes images.
public enum ImageEncoder {
    /// Encodes an image; of an animation the first frame, where the format has no animations.
    ///
    /// - Throws: `unsupported` for a format that cannot be written, `transparencyNeedsBackground` for a picture with
    ///   transparent pixels in a format without, `encodingFailed` for a size that the format cannot hold,
    ///   `outOfMemory`.
    public static func encode(
        _ image: Image, as format: ImageFormat, options: EncodeOptions = .init()
    ) throws(ImagingError) -> [UInt8] {
        switch format {
        case .png: try PNGEncoder.encode(image.bitmap, iccProfile: image.iccProfile, options: options)
        case .jpeg: try JPEGEncoder.encode(image.bitmap, iccProfile: image.iccProfile, options: options)
        default: throw .unsupported(format, feature: "encoding")
        }
    }
}
