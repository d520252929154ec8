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
