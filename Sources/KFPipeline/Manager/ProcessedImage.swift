import KFImaging
import KFTerms

/// The result of a processor, and its encoded bytes.
struct ProcessedImage: Sendable {
    let image: Image
    let bytes: [UInt8]
    let format: ImageFormat
    /// The number of frames that the bytes have: of an animation that was encoded in a format without animations, 1.
    let frames: Int

    /// Without bytes nothing has been encoded.
    init(image: Image, bytes: [UInt8] = [], format: ImageFormat) {
        (self.image, self.bytes, self.format) = (image, bytes, format)
        frames = format.supportsAnimation ? image.frames.count : 1
    }

    /// Encodes an image as the options say. `original` are the bytes that it was made from, of this format.
    init(_ image: Image, of original: [UInt8], _ format: ImageFormat, _ options: KingfisherOptions) throws(ImagingError)
    {
        self.image = image
        if let bytes = try Self.rewritten(original, format, options) {
            (self.bytes, self.format, frames) = (bytes, format, image.frames.count)
        } else {
            (bytes, self.format) = try options.cacheSerializer.data(for: image, original: format)
            frames = self.format.supportsAnimation ? image.frames.count : 1
        }
    }

    /// Returns the original with another description of the same pixels; nil if it has to be encoded, which it has too if
    /// it is damaged and that is tolerated.
    private static func rewritten(
        _ original: [UInt8], _ format: ImageFormat, _ options: KingfisherOptions
    ) throws(ImagingError) -> [UInt8]? {
        guard options.processor.identifier.isEmpty, options.decoding.isEmpty else { return nil }
        do throws(ImagingError) {
            return try options.cacheSerializer.rewritten(original, format)
        } catch {
            guard options.decodeLimits.toleratesDamage, error.isFault else { throw error }
            return nil
        }
    }

    /// The warnings of decoding, and what the format cannot store. With no bytes, nothing has been encoded.
    var warnings: [ImageWarning] {
        // An AVIF of an AVIF states the same range.
        let warnings = image.warnings.filter { $0 != .notToneMapped(.avif) || format != .avif || bytes.isEmpty }
        guard frames < image.frames.count, !bytes.isEmpty else { return warnings }
        return warnings + [.framesLost(frames: image.frames.count, format)]
    }
}
