import Glibc

/// Finds the orientation in a packet of XMP, as the attribute or the element `tiff:Orientation`.
enum XMPOrientation {
    /// Nil where the packet gives none.
    static func read(_ xmp: UnsafeRawBufferPointer) -> Orientation? {
        guard let place = place(in: xmp) else { return nil }
        return Orientation(Int(xmp[place]) - 0x30)
    }

    /// The same packet with an orientation that says upright, where it has one.
    static func reset(in xmp: UnsafeRawBufferPointer) -> [UInt8] {
        var bytes = Array(xmp)
        if let place = place(in: xmp) { bytes[place] = UInt8(ascii: "1") }
        return bytes
    }

    /// Where the digit stands.
    private static func place(in xmp: UnsafeRawBufferPointer) -> Int? {
        guard var position = end(of: "tiff:Orientation", in: xmp) else { return nil }
        let spaces: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
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
        guard position < xmp.count, (0x31...0x38).contains(xmp[position]) else { return nil }
        return position
    }

    /// The index behind the first occurrence of a text.
    private static func end(of text: StaticString, in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        var position = 0
        while let found = memchr(base + position, Int32(text.utf8Start[0]), bytes.count - position) {
            position = UnsafeRawPointer(found) - base
            if bytes.holds(text, at: position) { return position + text.utf8CodeUnitCount }
            position += 1
        }
        return nil
    }
}
