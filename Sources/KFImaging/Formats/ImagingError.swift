/// The reason why an image could not be read, processed or written.
public enum ImagingError: Error, Sendable, Equatable {
    /// The bytes are not an image of a known format.
    case notAnImage(ContentKind)
    /// The format, or a feature that the file uses, is recognised and not supported.
    case unsupported(ImageFormat, feature: String)
    /// A library that the format needs, and that is loaded on first use, cannot be loaded; `packages` says what to
    /// install.
    case missingLibrary(ImageFormat, packages: String, reason: String)
    /// A program's codec was not registered.
    case codecRefused(ImageFormat, reason: String)
    /// The file ends before the image is complete.
    case truncated(ImageFormat)
    /// The file violates its format.
    case corrupt(ImageFormat, reason: String)
    /// A frame exceeds the limit of pixels.
    case tooLarge(width: Int, height: Int, maxPixels: Int)
    /// A side exceeds its limit.
    case sideTooLong(width: Int, height: Int, maxSide: Int)
    /// The work on the image would exceed its memory limit; `bytes` is `Int.max` when the number is unknown.
    case memoryLimit(bytes: Int, limit: Int)
    /// All frames together exceed the limit of pixels.
    case animationTooLarge(frames: Int, width: Int, height: Int, maxPixels: Int)
    /// An animation exceeds the limit of frames.
    case tooManyFrames(maxFrames: Int)
    /// A progressive JPEG exceeds the limit of scans.
    case tooManyScans(maxScans: Int)
    /// The work exceeded its limit of processor time, or 60 times that by the clock.
    case timeLimit(Duration)
    /// An allocation failed; `bytes` is `Int.max` when the size exceeds the address space.
    case outOfMemory(bytes: Int)
    /// The text of a processor does not parse.
    case invalidProcessor(spec: String, reason: String)
    /// A processor failed on this image.
    case processingFailed(identifier: String, reason: String)
    /// The image has transparent pixels, the format cannot store them, and the options have no background.
    case transparencyNeedsBackground(ImageFormat)
    /// The encoder failed.
    case encodingFailed(ImageFormat, reason: String)

    /// The reason as one clause for a user, without the source and without a full stop.
    public var message: String {
        switch self {
        case .notAnImage(.html): "an HTML page, not an image"
        case .notAnImage: "not an image of a known format"
        case .unsupported(let format, "decoding")
        where ImageCodecs.own.contains { $0.format == format && $0.isDecodable }:
            "decoding \(format.displayName) is turned off (--decoders)"
        case .unsupported(let format, "decoding"): "decoding \(format.displayName) is not supported"
        case .unsupported(let format, "encoding"): "encoding \(format.displayName) is not supported"
        case .unsupported(let format, let feature): "\(format.displayName) with \(feature) is not supported"
        case .missingLibrary(let format, let packages, let reason):
            "\(format.displayName) needs a library that cannot be loaded (\(reason)); install \(packages)"
        case .codecRefused(let format, let reason): "no codec for \(format.displayName) can be added: \(reason)"
        case .truncated(let format): "the \(format.displayName) is truncated"
        case .corrupt(let format, let reason): "the \(format.displayName) is damaged: \(reason)"
        case .tooLarge(let width, let height, let limit):
            "\(width)×\(height) pixels exceed the limit of \(limit)"
        case .sideTooLong(let width, let height, let limit):
            "a side of \(width)×\(height) pixels exceeds the limit of \(limit)"
        case .memoryLimit(Int.max, let limit):
            "processing needs more than the limit of \(ImagingError.mebibytes(limit)) of memory"
        case .memoryLimit(let bytes, let limit):
            "processing needs \(ImagingError.mebibytes(bytes)) of memory, more than the limit of "
                + ImagingError.mebibytes(limit)
        case .animationTooLarge(let frames, let width, let height, let limit):
            "\(frames) frames of \(width)×\(height) pixels exceed the limit of \(limit) pixels"
        case .tooManyFrames(let limit): "more frames than the limit of \(limit)"
        case .tooManyScans(let limit): "more scans than the limit of \(limit)"
        case .timeLimit(let limit): "took longer than the limit of \(limit)"
        case .outOfMemory(let bytes): "out of memory (\(bytes) bytes)"
        case .invalidProcessor(let spec, let reason): "processor '\(spec)': \(reason)"
        case .processingFailed(let identifier, let reason): "'\(identifier)' failed: \(reason)"
        case .transparencyNeedsBackground(let format):
            "\(format.displayName) cannot store transparency, and no background colour is set"
        case .encodingFailed(let format, let reason): "cannot write as \(format.displayName): \(reason)"
        }
    }

    /// Rounded up, so that a number above the limit reads as such.
    private static func mebibytes(_ bytes: Int) -> String {
        "\(bytes / (1 << 20) + (bytes % (1 << 20) > 0 ? 1 : 0)) MiB"
    }
}

/// A fault of a file that costs no pixel, or a part of an image that is left out.
public enum ImageWarning: Sendable, Equatable {
    /// The file lacks its end marker: a GIF's trailer, a PNG's IEND chunk.
    case noEndMark(ImageFormat)
    /// After whole frames, a GIF has bytes that are not a block. They and everything after them are ignored.
    case endsWithoutBlock
    /// A PNG chunk that no pixel depends on has a wrong checksum and is ignored.
    case wrongChecksum(chunk: String)
    /// A comment or application segment of a JPEG states an impossible length and is taken as empty.
    case impossibleSegmentLength
    /// The animation of a PNG breaks its format; the PNG is decoded as its default image.
    case animationLost(reason: String)
    /// The image is an animation, and only its first frame is in the file, because the format has one frame.
    case framesLost(frames: Int, ImageFormat)
    /// The file has several pictures, such as the pages of a TIFF, of which only the first is read.
    case picturesLost(count: Int, ImageFormat)
    /// The pixels are encoded with PQ or HLG, and are neither converted nor described by a profile.
    case notToneMapped(ImageFormat)
    /// The gain map of an HDR picture (Ultra HDR, ISO 21496-1) is not in the result, which shows it on every display as
    /// on one without HDR.
    case gainMapLost
    /// The file is damaged, and was decoded as far as it goes.
    case damaged(reason: String)

    /// Whether the result shows less than the file, other than after `noEndMark` and the like.
    public var isLoss: Bool {
        switch self {
        case .animationLost, .framesLost, .picturesLost, .notToneMapped, .endsWithoutBlock, .gainMapLost, .damaged: true
        case .noEndMark, .wrongChecksum, .impossibleSegmentLength: false
        }
    }

    /// Whether a part of the picture is missing from the file.
    public var isDamage: Bool {
        if case .damaged = self { return true }
        return false
    }

    /// The fault as one clause for a user, without the source and without a full stop.
    public var message: String {
        switch self {
        case .noEndMark(let format): "the \(format.displayName) has no end marker; all its pixels are present"
        case .endsWithoutBlock: "the GIF goes on with bytes that are no block; only the frames before them are used"
        case .wrongChecksum(let chunk): "the PNG's \(chunk) chunk has a wrong checksum and is ignored"
        case .impossibleSegmentLength: "a segment of the JPEG states an impossible length and is taken as empty"
        case .animationLost(let reason):
            "the PNG's animation is damaged (\(reason)); only its default image is used"
        case .framesLost(let frames, let format):
            "the image is an animation of \(frames) frames; only the first is in the \(format.displayName) "
                + "(GIF, WebP and AVIF keep all)"
        case .picturesLost(let count, let format):
            "the \(format.displayName) has \(count) pictures; only the first is read"
        case .notToneMapped(let format):
            "the \(format.displayName) is HDR (PQ or HLG), which is not converted: its colours come out pale"
        case .gainMapLost: "the picture has a gain map (Ultra HDR), which the result has not: it is not HDR"
        case .damaged(let reason): "\(reason); what is missing stays empty, and nothing is cached"
        }
    }
}
