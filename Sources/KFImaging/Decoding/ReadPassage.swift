/// Reports how far a walk over a long file has come, so that the caller can release the pages behind it.
public struct ReadPassage {
    /// The number of bytes between two reports.
    private static let step = 2 << 20

    private let report: ((_ position: Int) -> Void)?
    private var next = ReadPassage.step
    /// The structure that was read while the file arrived.
    let arrived: ArrivingImage?

    /// `report` is called with the position after each step. `arrived` must have read all of the bytes.
    package init(over arrived: ArrivingImage? = nil, _ report: ((_ position: Int) -> Void)?) {
        self.arrived = arrived
        self.report = report
    }

    /// A passage that reports nothing.
    package static var silent: ReadPassage { ReadPassage(nil) }

    /// Notes that the bytes before `position` have been read.
    public mutating func reach(_ position: Int) {
        guard position >= next else { return }
        report?(position)
        next = position + Self.step
    }
}

/// The longest parts of an image file, read while the file arrives and its bytes are in a processor cache anyway.
///
/// `ReadPassage` passes the result to `ImageProbe`, which then skips these parts. PNG and JPEG gain by it.
package struct ArrivingImage: Sendable {
    private var png: PNGImageData?
    private var jpeg: JPEGScanData?

    /// Nil for a kind of file that is only read when it is complete.
    package init?(_ kind: ContentKind) {
        switch kind {
        case .image(.png): png = PNGImageData()
        case .image(.jpeg): jpeg = JPEGScanData()
        default: return nil
        }
    }

    /// Reads the next bytes of the file; the first call begins at the file's first byte.
    package mutating func read(_ bytes: UnsafeRawBufferPointer) {
        png?.read(bytes)
        jpeg?.read(bytes)
    }

    /// The part that begins at `position` and need not be read again; nil when there is none, or it is damaged.
    func part(from position: Int) -> ArrivedPart? { png?.part(from: position) ?? jpeg?.part(from: position) }
}

/// A part of a file that was read, and verified if it has checksums, while the file arrived.
struct ArrivedPart {
    /// The offset of the first byte behind the part.
    var end: Int
    /// The number of bytes of image data in the part.
    var dataBytes: Int
}
