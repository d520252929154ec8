/// Reads the size in pixels, as displayed, of formats that kf does not decode. Each reader looks at the header alone, and
/// returns nil for a file that does not state its size there.
enum RecognizedSize {
    /// Nil for a side of no or of absurd length.
    private static func size(_ width: Int?, _ height: Int?, turned: Bool = false) -> PixelSize? {
        guard let width, let height, (1...1 << 30).contains(width), (1...1 << 30).contains(height) else { return nil }
        let size = PixelSize(width: width, height: height)
        return turned ? size.turned : size
    }

    /// The box `ihdr` of JPEG 2000, or the segment SIZ of its codestream.
    static func jpeg2000(_ bytes: UnsafeRawBufferPointer) -> PixelSize? {
        if bytes.bigEndian32(at: 0) == 0xFF4F_FF51 {
            guard let right = bytes.bigEndian32(at: 8), let bottom = bytes.bigEndian32(at: 12),
                let left = bytes.bigEndian32(at: 16), let top = bytes.bigEndian32(at: 20)
            else { return nil }
            return size(right - left, bottom - top)
        }
        let header = box("jp2h", bytes, 0..<bytes.count).flatMap { box("ihdr", bytes, $0) }
        return header.flatMap { size(bytes.bigEndian32(at: $0.lowerBound + 4), bytes.bigEndian32(at: $0.lowerBound)) }
    }

    /// The attributes of SVG's root element: width and height in pixels, or the size of the view box. Other units need a
    /// renderer.
    static func svg(_ bytes: UnsafeRawBufferPointer) -> PixelSize? {
        guard let attributes = rootAttributes(bytes.prefix(1 << 16)) else { return nil }
        func attribute(_ name: String) -> Substring? { attributes[name].map { $0[...].trimmed } }
        func pixels(_ text: Substring?) -> Double? {
            text.flatMap { Double($0.hasSuffix("px") ? $0.dropLast(2) : $0) }
        }
        let box = attribute("viewBox")?.split { $0 == " " || $0 == "," || $0.isNewline }.compactMap { Double($0) }
        let (width, height) = (attribute("width"), attribute("height"))
        var sides = (pixels(width), pixels(height))
        if let box, box.count == 4, box[2] > 0, box[3] > 0 {
            switch (width, height) {
            case (nil, nil): sides = (box[2], box[3])
            case (_, nil): sides.1 = sides.0.map { $0 * box[3] / box[2] }
            case (nil, _): sides.0 = sides.1.map { $0 * box[2] / box[3] }
            default: break
            }
        }
        return size(sides.0.map { Int(clamping: $0.rounded(.up)) }, sides.1.map { Int(clamping: $0.rounded(.up)) })
    }

    /// The attributes of the first element whose local name is `svg`; nil without one.
    private static func rootAttributes(_ bytes: Slice<UnsafeRawBufferPointer>) -> [String: String]? {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        var rest = bytes
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[(start + 1)...]
            if rest.starts(with: "!--".utf8) {
                guard let end = rest.end(of: "-->") else { return nil }
                rest = rest[end...]
                continue
            }
            let name = rest.prefix { !isSpace($0) && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "/") }
            rest = rest[name.endIndex...]
            guard name.suffix(3).elementsEqual("svg".utf8),
                name.count == 3 || name.dropLast(3).last == UInt8(ascii: ":")
            else { continue }
            var attributes: [String: String] = [:]
            while true {
                rest = rest.drop { isSpace($0) || $0 == UInt8(ascii: "/") }
                let key = rest.prefix { !isSpace($0) && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ">") }
                rest = rest[key.endIndex...].drop { isSpace($0) }
                guard !key.isEmpty, rest.first == UInt8(ascii: "=") else { return attributes }
                rest = rest.dropFirst().drop { isSpace($0) }
                guard let quote = rest.popFirst(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
                    let end = rest.firstIndex(of: quote)
                else { return attributes }
                let (name, value) = (
                    String(decoding: key, as: UTF8.self), String(decoding: rest[..<end], as: UTF8.self)
                )
                if attributes[name] == nil { attributes[name] = value }
                rest = rest[(end + 1)...]
            }
        }
        return nil
    }

    private static func box(_ kind: FourCharacters, _ bytes: UnsafeRawBufferPointer, _ part: Range<Int>) -> Range<Int>?
    {
        var found: Range<Int>?
        // The search ends at a broken box.
        _ = try? bytes.forEachBox(in: part) { if $0.kind == kind, found == nil { found = $0.body } }
        return found
    }
}
