import KFImaging
import KFTerms

/// The result of a processor, and its encoded bytes.
struct ProcessedImage: Sendable {
    let image: Image
    let bytes: [UInt8]
    let format: ImageFormat

    init(image: Image, bytes: [UInt8], format: ImageFormat) {
        (self.image, self.bytes, self.format) = (image, bytes, format)
    }

    /// Encodes an image as the options say. `original` are the bytes that it was made from, of this format.
    init(_ image: Image, of original: [UInt8], _ format: ImageFormat, _ options: KingfisherOptions) throws(ImagingError)
    {
        self.image = image
        if options.processor.identifier.isEmpty, options.decoding.isEmpty,
            let bytes = try options.cacheSerializer.rewritten(original, format)
        {
            (self.bytes, self.format) = (bytes, format)
        } else {
            (bytes, self.format) = try options.cacheSerializer.data(for: image, original: format)
        }
    }

    /// The warnings of decoding, and what the format cannot store. With no bytes, nothing has been encoded.
    var warnings: [ImageWarning] {
        let frames = image.frames.count
        // An AVIF of an AVIF states the same range.
        let warnings = image.warnings.filter { $0 != .notToneMapped(.avif) || format != .avif || bytes.isEmpty }
        guard frames > 1, !bytes.isEmpty, !format.supportsAnimation else { return warnings }
        return warnings + [.framesLost(frames: frames, format)]
    }
}
