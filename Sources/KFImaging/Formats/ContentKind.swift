/// What a run of bytes is, going by its beginning alone.
public enum ContentKind: Sendable, Equatable {
    /// An image of this format.
    case image(ImageFormat)
    /// A web page.
    case html
    /// Anything else.
    case unknown

    /// Looks at the first bytes; 4 KiB are enough.
    public static func sniff(_ bytes: UnsafeRawBufferPointer) -> ContentKind {
        let head = UnsafeRawBufferPointer(rebasing: bytes.prefix(4096))
        if let format = binaryFormat(head) { return .image(format) }
        return text(head)
    }

    private static func binaryFormat(_ head: UnsafeRawBufferPointer) -> ImageFormat? {
        if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return .png }
        if head.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
        if head.starts(with: "GIF8".utf8) { return .gif }
        if head.starts(with: "RIFF".utf8), head.holds("WEBP", at: 8) { return .webp }
        if head.holds("ftyp", at: 4) { return isoFormat(head) }
        if head.starts(with: [0xFF, 0x0A]) { return .jxl }
        if head.starts(with: [0, 0, 0, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A]) { return .jxl }
        if head.starts(with: [0x49, 0x49, 0x2A, 0]) || head.starts(with: [0x4D, 0x4D, 0, 0x2A]) { return .tiff }
        if head.starts(with: [0x49, 0x49, 0x2B, 0]) || head.starts(with: [0x4D, 0x4D, 0, 0x2B]) { return .tiff }
        if isBitmapFile(head) { return .bmp }
        if isIcon(head) { return .ico }
        return nil
    }

    /// An ISO media file says in its brands what it holds: the major one, then the compatible ones.
    private static func isoFormat(_ head: UnsafeRawBufferPointer) -> ImageFormat? {
        let box = min(head.count, Int(head.bigEndian32(at: 0) ?? 0))
        var format: ImageFormat?
        var offset = 8
        while offset + 4 <= box {
            if offset != 12 {
                if head.holds("avif", at: offset) || head.holds("avis", at: offset) { return .avif }
                for brand in ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"]
                where head.holds(brand, at: offset) {
                    format = .heic
                }
            }
            offset += 4
        }
        return format
    }

    /// "BM" begins many a text; the size of the header behind it does not.
    private static func isBitmapFile(_ head: UnsafeRawBufferPointer) -> Bool {
        guard head.starts(with: "BM".utf8), let size = head.littleEndian32(at: 14) else { return false }
        return [12, 16, 40, 52, 56, 64, 108, 124].contains(size)
    }

    private static func isIcon(_ head: UnsafeRawBufferPointer) -> Bool {
        guard head.starts(with: [0, 0, 1, 0]), let count = head.littleEndian16(at: 4), head.count >= 22 else {
            return false
        }
        return count > 0 && count < 256 && head[9] == 0
    }

    /// SVG and HTML are text: behind a byte order mark, blanks, declarations and comments stands the first element.
    private static func text(_ head: UnsafeRawBufferPointer) -> ContentKind {
        var rest = head[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        var sawDeclaration = false
        while true {
            rest = rest.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
            if rest.starts(withIgnoringCase: "<!--") {
                guard let end = rest.end(of: "-->") else { return .unknown }
                rest = rest[end...]
            } else if rest.starts(withIgnoringCase: "<?xml") {
                guard let end = rest.end(of: "?>") else { return .unknown }
                sawDeclaration = true
                rest = rest[end...]
            } else if rest.starts(withIgnoringCase: "<!doctype svg") {
                return .image(.svg)
            } else {
                break
            }
        }
        if rest.starts(withIgnoringCase: "<svg") { return .image(.svg) }
        for tag in ["<!doctype html", "<html", "<head", "<body", "<title", "<script", "<meta", "<h1", "<p>", "<div"]
        where rest.starts(withIgnoringCase: tag) {
            return .html
        }
        // A prefixed root element, as in <s:svg xmlns:s="…">.
        if sawDeclaration, rest.prefix(256).end(of: "http://www.w3.org/2000/svg") != nil { return .image(.svg) }
        return .unknown
    }
}
