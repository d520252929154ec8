import KFImaging

/// The result of a processor, and its encoded bytes.
struct ProcessedImage: Sendable {
    let image: Image
    let bytes: [UInt8]
    let format: ImageFormat

    /// The warnings of decoding, and what the format cannot store. With no bytes, nothing has been encoded.
    var warnings: [ImageWarning] {
        let frames = image.frames.count
        guard frames > 1, !bytes.isEmpty, !format.supportsAnimation else { return image.warnings }
        return image.warnings + [.framesLost(frames: frames, format)]
    }
}
