/// Why an image could not be read, changed or written.
public enum ImagingError: Error, Sendable, Equatable {
    /// The bytes are no image at all, or none that kf knows.
    case notAnImage(ContentKind)
    /// An image of a kind that is recognised but not handled.
    case unsupported(ImageFormat, feature: String)
    /// The file ends before its image does.
    case truncated(ImageFormat)
    /// The file breaks the rules of its format.
    case corrupt(ImageFormat, reason: String)
    /// One frame has more pixels than allowed.
    case tooLarge(width: Int, height: Int, maxPixels: Int)
    /// A side is longer than allowed.
    case sideTooLong(width: Int, height: Int, maxSide: Int)
    /// The work on the image would hold more memory than allowed, all its stages together; `Int.max` is more than can
    /// be counted.
    case memoryLimit(bytes: Int, limit: Int)
    /// All frames together have more pixels than allowed.
    case animationTooLarge(frames: Int, width: Int, height: Int, maxPixels: Int)
    /// An animation has more frames than allowed.
    case tooManyFrames(maxFrames: Int)
    /// A progressive JPEG goes over its picture more often than allowed.
    case tooManyScans(maxScans: Int)
    /// The work took longer than allowed.
    case timeLimit(Duration)
    /// So much memory could not be had; `Int.max` is more than can be counted.
    case outOfMemory(bytes: Int)
    /// A processor's text that cannot be understood.
    case invalidProcessor(spec: String, reason: String)
    /// A processor that failed on this image.
    case processingFailed(identifier: String, reason: String)
    /// The format cannot hold transparency, and no background was given to put behind it.
    case transparencyNeedsBackground(ImageFormat)
    /// The codec could not write it.
    case encodingFailed(ImageFormat, reason: String)

    /// What happened in one clause, for a user; it names no source and has no full stop.
    public var message: String {
        switch self {
        case .notAnImage(.html): "an HTML page, not an image"
        case .notAnImage: "not an image of a known format"
        case .unsupported(let format, let feature): "\(format.displayName) with \(feature) is not supported"
        case .truncated(let format): "the \(format.displayName) is truncated"
        case .corrupt(let format, let reason): "the \(format.displayName) is damaged: \(reason)"
        case .tooLarge(let width, let height, let limit):
            "\(width)×\(height) pixels are more than the limit of \(limit)"
        case .sideTooLong(let width, let height, let limit):
            "\(width)×\(height) pixels: a side is longer than the limit of \(limit)"
        case .memoryLimit(Int.max, let limit):
            "the work on it would take more than the limit of \(ImagingError.mebibytes(limit)) of memory"
        case .memoryLimit(let bytes, let limit):
            "the work on it would take \(ImagingError.mebibytes(bytes)) of memory, more than the limit of "
                + ImagingError.mebibytes(limit)
        case .animationTooLarge(let frames, let width, let height, let limit):
            "\(frames) frames of \(width)×\(height) pixels are more than the limit of \(limit)"
        case .tooManyFrames(let limit): "more than \(limit) frames"
        case .tooManyScans(let limit): "more than \(limit) scans"
        case .timeLimit(let limit): "took longer than the limit of \(limit)"
        case .outOfMemory(let bytes): "no memory for \(bytes) bytes"
        case .invalidProcessor(let spec, let reason): "processor '\(spec)': \(reason)"
        case .processingFailed(let identifier, let reason): "'\(identifier)' failed: \(reason)"
        case .transparencyNeedsBackground(let format):
            "\(format.displayName) cannot hold transparency and no background colour is given"
        case .encodingFailed(let format, let reason): "cannot write as \(format.displayName): \(reason)"
        }
    }

    /// Rounded up, so that what is above a limit reads so.
    private static func mebibytes(_ bytes: Int) -> String {
        "\(bytes / (1 << 20) + (bytes % (1 << 20) > 0 ? 1 : 0)) MiB"
    }
}

/// What is wrong with a file, or is lost of it, although no pixel of its picture is missing.
public enum ImageWarning: Sendable, Equatable {
    /// The file ends without the mark that should stand there: a GIF's trailer, a PNG's IEND.
    case noEndMark(ImageFormat)
    /// A PNG's chunk that is not needed for the pixels has a wrong checksum, and is ignored.
    case wrongChecksum(chunk: String)
    /// A JPEG's comment or application segment states a length that cannot be, and is taken as empty.
    case impossibleSegmentLength
    /// The image is an animated PNG of so many frames, and only its default image was decoded.
    case animationLost(frames: Int)

    /// What was found in one clause, for a user; it names no source and has no full stop.
    public var message: String {
        switch self {
        case .noEndMark(let format): "the \(format.displayName) has no end mark, but all its pixels"
        case .wrongChecksum(let chunk): "the PNG's \(chunk) chunk has a wrong checksum and is ignored"
        case .impossibleSegmentLength: "a segment of the JPEG states an impossible length and is taken as empty"
        case .animationLost(let frames):
            "the PNG is an animation of \(frames) frames; only its default image is used"
        }
    }
}
