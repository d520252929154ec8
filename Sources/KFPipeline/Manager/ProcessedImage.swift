import KFImaging

/// The result of a processor, and its encoded bytes.
struct ProcessedImage: Sendable {
    let image: Image
    let bytes: [UInt8]
    let format: ImageFormat

    /// The warnings of decoding, and what the format cannot store. With no bytes, nothing has been encoded.
    var warnings: [ImageWarning] {
        let frames = image.frames.count
        // An AVIF of an AVIF states the same range.
        let warnings = image.warnings.filter { $0 != .notToneMapped(.avif) || format != .avif || bytes.isEmpty }
        guard frames > 1, !bytes.isEmpty, !format.supportsAnimation else { return warnings }
        return warnings + [.framesLost(frames: frames, format)]
    }
}
