/// A format that kf stores and delivers without decoding it, or that another program has registered.
///
/// A format that learns to be read moves to a folder of its own.
struct RecognizedFormat: ImageCodec {
    let format: ImageFormat
    let displayName: String
    private let recognizes: @Sendable (UnsafeRawBufferPointer) -> Bool
    private let size: @Sendable (UnsafeRawBufferPointer) -> PixelSize?

    var fileExtension: String { String(format.rawValue.prefix(8)) }
    var isDecodable: Bool { false }

    private init(
        _ format: ImageFormat, _ name: String,
        size: @escaping @Sendable (UnsafeRawBufferPointer) -> PixelSize? = { _ in nil },
        _ recognizes: @escaping @Sendable (UnsafeRawBufferPointer) -> Bool
    ) {
        (self.format, displayName, self.size, self.recognizes) = (format, name, size, recognizes)
    }

    /// A format of another program, whose files are not recognised here.
    init(_ format: ImageFormat) { self.init(format, format.rawValue.uppercased()) { _ in false } }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { recognizes(head) }

    /// - Throws: `unsupported` for a file whose header does not state the size.
    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo {
        guard let size = size(bytes) else { throw .unsupported(format, feature: "decoding") }
        return ImageInfo(format: format, stored: size)
    }

    func decode(_ bytes: UnsafeRawBufferPointer, options: DecodeOptions) throws(ImagingError) -> Image {
        throw .unsupported(format, feature: "decoding")
    }

    /// A file of boxes (JP2), or a bare codestream.
    static let jpeg2000 = RecognizedFormat(.jp2, "JPEG 2000", size: RecognizedSize.jpeg2000) {
        $0.bigEndian32(at: 0) == 0x0C && $0.holds("jP  ", at: 4) && $0.bigEndian32(at: 8) == 0x0D0A_870A
            || $0.bigEndian32(at: 0) == 0xFF4F_FF51
    }

    static let svg = RecognizedFormat(.svg, "SVG", size: RecognizedSize.svg) { Markup($0) == .svg }
}

extension UnsafeRawBufferPointer {
    /// Whether an ISO media file states one of these brands: the major brand at 8, the compatible ones from 16 on.
    func hasISOBrand(_ brands: [StaticString]) -> Bool {
        guard holds("ftyp", at: 4) else { return false }
        let box = Swift.min(count, Int(bigEndian32(at: 0) ?? 0))
        return stride(from: 8, to: box - 3, by: 4).contains { offset in
            offset != 12 && brands.contains { holds($0, at: offset) }
        }
    }
}

/// The kind of a text that may be SVG or HTML, recognised by its first element.
enum Markup {
    case svg, html, other

    /// Skips a byte order mark, white space, declarations and comments, then compares the first element.
    init(_ head: UnsafeRawBufferPointer) {
        var rest = head[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        var sawDeclaration = false
        self = .other
        while true {
            rest = rest.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
            if rest.starts(withIgnoringCase: "<!--") {
                guard let end = rest.end(of: "-->") else { return }
                rest = rest[end...]
            } else if rest.starts(withIgnoringCase: "<?xml") {
                guard let end = rest.end(of: "?>") else { return }
                sawDeclaration = true
                rest = rest[end...]
            } else {
                break
            }
        }
        if Self.svgStarts.contains(where: { rest.starts(withIgnoringCase: $0) }) {
            self = .svg
        } else if Self.htmlStarts.contains(where: { rest.starts(withIgnoringCase: $0) }) {
            self = .html
        } else if sawDeclaration, rest.prefix(256).end(of: "http://www.w3.org/2000/svg") != nil {
            // A prefixed root element, as in <s:svg xmlns:s="…">.
            self = .svg
        }
    }

    private static let svgStarts = ["<svg", "<!doctype svg"]
    private static let htmlStarts = [
        "<!doctype html", "<html", "<head", "<body", "<title", "<script", "<meta", "<h1", "<p>", "<div",
    ]
}
