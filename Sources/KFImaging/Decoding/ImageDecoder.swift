/// Decodes PNG, JPEG, GIF and WebP.
public enum ImageDecoder {
    /// Decodes an image, upright and with every frame composited.
    ///
    /// Runs on the calling thread and takes as long as the image is large; the limits bound it.
    ///
    /// - Throws: `notAnImage`, `unsupported`, `truncated`, `corrupt`, `outOfMemory`, and the limits' errors.
    public static func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions = .init()
    ) throws(ImagingError) -> Image {
        switch try ImageProbe.decodableFormat(bytes) {
        case .png: try PNGDecoder.decode(bytes, options: options)
        case .jpeg: try JPEGDecoder.decode(bytes, options: options)
        case .gif: try GIFDecoder.decode(bytes, options: options)
        default: try WebPDecoder.decode(bytes, options: options)
        }
    }

    /// The same for bytes in an array.
    public static func decode(_ bytes: [UInt8], options: DecodeOptions = .init()) throws(ImagingError) -> Image {
        try bytes.withUnsafeBufferPointer { (buffer) throws(ImagingError) in
            try decode(UnsafeRawBufferPointer(buffer), options: options)
        }
    }
}
