/// A packet of XMP: its orientation, and what describes other pixels than those of the picture.
enum XMPPacket {
    /// Returns the orientation, from the attribute or the element `tiff:Orientation`; nil when the packet states none.
    static func orientation(_ xmp: UnsafeRawBufferPointer) -> Orientation? {
        guard let place = digits(of: "tiff:Orientation", in: xmp)?.lowerBound, (0x31...0x38).contains(xmp[place]) else {
            return nil
        }
        return Orientation(Int(xmp[place]) - 0x30)
    }

    /// Returns the packet with its orientation, if any, set to upright.
    static func upright(_ xmp: UnsafeRawBufferPointer) -> [UInt8] {
        var bytes = Array(xmp)
        if let place = digits(of: "tiff:Orientation", in: xmp)?.lowerBound, (0x31...0x38).contains(xmp[place]) {
            bytes[place] = UInt8(ascii: "1")
        }
        return bytes
    }

    /// The properties that hold pictures: thumbnails, and what phones add for a blurred background.
    private static let pictures = [
        "xmp:Thumbnails", "xap:Thumbnails", "xmpGImg:image", "xapGImg:image", "GImage:Data", "GDepth:Data",
    ].map { Array($0.utf8) }

    /// Returns the packet for a picture of this size, without the pictures in it.
    static func describing(_ size: PixelSize, _ xmp: UnsafeRawBufferPointer) -> [UInt8] {
        var bytes = Array(xmp)
        for name in pictures {
            let ranges = bytes.withRaw { properties(name, in: $0) }
            for range in ranges.reversed() { bytes.removeSubrange(range) }
        }
        let sides = [
            "exif:PixelXDimension": size.width, "exif:PixelYDimension": size.height, "tiff:ImageWidth": size.width,
            "tiff:ImageLength": size.height,
        ]
        for (name, side) in sides {
            if let range = bytes.withRaw({ digits(of: name, in: $0) }) {
                bytes.replaceSubrange(range, with: "\(side)".utf8)
            }
        }
        return bytes
    }

    private static let spaces: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]

    /// The digits of a property's value, as an attribute or as an element.
    private static func digits(of name: String, in xmp: UnsafeRawBufferPointer) -> Range<Int>? {
        guard var position = xmp[...].end(of: Array(name.utf8)) else { return nil }
        func skip(_ characters: [UInt8]) {
            while position < xmp.count, characters.contains(xmp[position]) { position += 1 }
        }
        skip(spaces)
        guard position < xmp.count else { return nil }
        switch xmp[position] {
        case UInt8(ascii: "="): skip(spaces + [UInt8(ascii: "="), UInt8(ascii: "\""), UInt8(ascii: "'")])
        case UInt8(ascii: ">"): skip(spaces + [UInt8(ascii: ">")])
        default: return nil
        }
        let count = xmp[position...].prefix { (0x30...0x39).contains($0) }.count
        return count > 0 ? position..<position + count : nil
    }

    /// The places of a property, as an attribute with its value, or as an element with all that is in it.
    private static func properties(_ name: [UInt8], in xmp: UnsafeRawBufferPointer) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start = 0
        // A packet has one or two.
        while ranges.count < 64, let end = xmp[start...].end(of: name) {
            let first = end - name.count
            start = end
            guard first > 0 else { continue }
            var last: Int?
            if xmp[first - 1] == UInt8(ascii: "<") {
                let close = xmp[end...].end(of: Array("</".utf8) + name)
                last = xmp[(close ?? end)...].end(of: [UInt8(ascii: ">")])
                if let last { ranges.append(first - 1..<last) }
            } else if spaces.contains(xmp[first - 1]) {
                let value = xmp[end...].drop { spaces.contains($0) || $0 == UInt8(ascii: "=") }
                if let quote = value.first, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(quote) {
                    last = value.dropFirst().firstIndex(of: quote).map { $0 + 1 }
                }
                if let last { ranges.append(first..<last) }
            }
            start = last ?? end
        }
        return ranges
    }
}
