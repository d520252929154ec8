/// Decodes every format whose ``ImageFormat/isDecodable`` is true.
public enum ImageDecoder {
    /// Decodes an image, upright and with every frame composited.
    ///
    /// Runs on the calling thread. The time grows with the number of pixels; the limits bound it.
    ///
    /// - Throws: `notAnImage`, `unsupported`, `truncated`, `corrupt`, `outOfMemory`, and the errors of the limits.
    public static func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions = .init()
    ) throws(ImagingError) -> Image {
        try decode(bytes, options: options, each: nil)
    }

    /// Decodes an image from an array.
    public static func decode(_ bytes: [UInt8], options: DecodeOptions = .init()) throws(ImagingError) -> Image {
        try bytes.withRaw { (bytes) throws(ImagingError) in try decode(bytes, options: options) }
    }

    /// Decodes an image and changes every frame as soon as it is complete, so that of an animation only the results
    /// are in memory.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        try decode(bytes, for: [options], each: change)[0]
    }

    private static func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        let limits = requests[0].limits
        var (images, warning) = try Tolerance.run(limits) { () throws(ImagingError) in
            try Allowance.within(limits, fileBytes: bytes.count) { () throws(ImagingError) in
                try ImageCodecs.decoder(of: bytes).decode(bytes, for: requests, each: change)
            }
        }
        if let warning { for index in images.indices { images[index].warnings.append(warning) } }
        return images
    }

    /// Decodes every frame and keeps none, to find damage that the structure does not show. Returns the faults that
    /// cost no pixel.
    ///
    /// Holds one canvas of an animation, one picture of an interlaced PNG or an AVIF, and some rows of any other image.
    ///
    /// - Throws: what `decode` throws.
    package static func check(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits = .init()
    ) throws(ImagingError) -> [ImageWarning] {
        let (warnings, damage) = try Tolerance.run(limits) { () throws(ImagingError) in
            try Allowance.within(limits, fileBytes: bytes.count) { () throws(ImagingError) in
                try ImageCodecs.decoder(of: bytes).check(bytes, limits: limits)
            }
        }
        return damage.map { warnings + [$0] } ?? warnings
    }

    /// Groups the indices of `sizes` so that one pass over the bytes can make all sizes of a group.
    package static func passes(
        over bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [[Int]] {
        try ImageCodecs.decoder(of: bytes).passes(bytes, for: sizes.map(options.sized))
    }

    /// Decodes an image at the sizes of one group of `passes`, in one pass over its bytes. Each result equals what
    /// `decode` makes for its size alone.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [Image] {
        try decode(bytes, for: sizes.map(options.sized), each: nil)
    }
}
