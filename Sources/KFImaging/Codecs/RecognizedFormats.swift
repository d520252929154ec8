// The formats that kf stores and delivers without decoding them. A format that learns to be read moves to a folder of
// its own.

/// A format that another program has registered: it has a name, and is delivered as received.
struct NamedFormat: Codec {
    let format: ImageFormat
    var displayName: String { format.rawValue.uppercased() }
    var fileExtension: String { String(format.rawValue.prefix(8)) }
    var supportsAlpha: Bool { true }
    var supportsAnimation: Bool { false }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { false }
}

/// HEIC. An AVIF file may state HEIC's general brands too, so that AVIF is tried first.
struct HEICCodec: Codec {
    var format: ImageFormat { .heic }
    var displayName: String { "HEIC" }
    var fileExtension: String { "heic" }
    var supportsAlpha: Bool { true }
    var supportsAnimation: Bool { true }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        head.hasISOBrand(["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"])
    }
}

struct JPEGXLCodec: Codec {
    var format: ImageFormat { .jxl }
    var displayName: String { "JPEG XL" }
    var fileExtension: String { "jxl" }
    var supportsAlpha: Bool { true }
    var supportsAnimation: Bool { true }

    /// A bare codestream, or the signature box of a container.
    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        head.starts(with: [0xFF, 0x0A])
            || head.starts(with: [0, 0, 0, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A])
    }
}

struct TIFFCodec: Codec {
    var format: ImageFormat { .tiff }
    var displayName: String { "TIFF" }
    var fileExtension: String { "tiff" }
    var supportsAlpha: Bool { true }
    var supportsAnimation: Bool { false }

    /// Either byte order, TIFF (42) or BigTIFF (43).
    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        head.holds("II*\0", at: 0) || head.holds("MM\0*", at: 0) || head.holds("II+\0", at: 0)
            || head.holds("MM\0+", at: 0)
    }
}

struct SVGCodec: Codec {
    var format: ImageFormat { .svg }
    var displayName: String { "SVG" }
    var fileExtension: String { "svg" }
    var supportsAlpha: Bool { true }
    var supportsAnimation: Bool { false }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { Markup(head) == .svg }
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
