extension ImageDecoder {
    /// Decodes every frame and keeps none, to find damage that the file's structure does not show. Returns what is wrong
    /// with the file although no pixel is missing.
    ///
    /// Holds no more than one canvas; of a JPEG, and of a PNG that is not interlaced, only some rows.
    ///
    /// - Throws: what `decode` throws; `unsupported` for what is recognised and cannot be decoded.
    public static func check(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits = .init()
    ) throws(ImagingError) -> [ImageWarning] {
        try Allowance.within(limits, fileBytes: bytes.count) { () throws(ImagingError) in
            switch try ImageProbe.decodableFormat(bytes) {
            case .png: return try PNGDecoder.check(bytes, limits: limits)
            case .jpeg: return try JPEGDecoder.check(bytes, limits: limits)
            case .gif: return try GIFDecoder.decode(bytes, options: options(limits), each: dot()).warnings
            default: return try WebPDecoder.decode(bytes, options: options(limits), each: dot()).warnings
            }
        }
    }

    /// All frames at their size, whatever the budget for keeping them.
    private static func options(_ limits: DecodeLimits) -> DecodeOptions {
        var options = DecodeOptions(limits: limits)
        options.limits.scaleDownBytes = nil
        return options
    }

    /// One pixel in place of each frame.
    private static func dot() throws(ImagingError) -> FrameChange {
        let dot = try Bitmap(width: 1, height: 1, format: .gray)
        return { _ in dot }
    }
}
