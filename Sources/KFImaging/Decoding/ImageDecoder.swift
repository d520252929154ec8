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
        try decode(bytes, options: options, each: nil)
    }

    /// The same with a change made to every frame as soon as it is there, so that of an animation no more is held
    /// than the results.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        try Allowance.within(options.limits, fileBytes: bytes.count) { () throws(ImagingError) in
            try decodeWithin(bytes, options: options, each: change)
        }
    }

    private static func decodeWithin(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        var image: Image
        switch try ImageProbe.decodableFormat(bytes) {
        case .png: image = try PNGDecoder.decode(bytes, options: options)
        case .jpeg: image = try JPEGDecoder.decode(bytes, options: options)
        case .gif: return try GIFDecoder.decode(bytes, options: options, each: change)
        default:
            let webp = try WebPStructure(bytes)
            if webp.isAnimated { return try WebPDecoder.decode(bytes, options: options, each: change) }
            image = try WebPDecoder.decode(bytes, options: options)
        }
        if options.convertsToSRGB { image = try image.convertedToSRGB() }
        guard let change else { return image }
        return try image.mapBitmaps(change)
    }

    /// The same for bytes in an array.
    public static func decode(_ bytes: [UInt8], options: DecodeOptions = .init()) throws(ImagingError) -> Image {
        try bytes.withUnsafeBufferPointer { (buffer) throws(ImagingError) in
            try decode(UnsafeRawBufferPointer(buffer), options: options)
        }
    }
}
