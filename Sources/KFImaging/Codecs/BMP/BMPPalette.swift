/// The colours of a bitmap of at most 8 bits a pixel.
struct BMPPalette {
    /// 256 colours, with red in the lowest byte and opaque; black for an index without an entry.
    let colors: [UInt32]
    /// Whether every entry is grey.
    let isGray: Bool

    init(_ header: BMPHeader) {
        var colors = [UInt32](repeating: 0xFF00_0000, count: 256)
        var isGray = true
        for index in 0..<header.palette.count {
            let place = header.palette.start + index * header.palette.entrySize
            guard let entry = header.bytes.littleEndian24(at: place) else { break }
            let color = UInt32(truncatingIfNeeded: entry)
            let (red, green, blue) = (color >> 16 & 255, color >> 8 & 255, color & 255)
            isGray = isGray && red == green && green == blue
            colors[index] = 0xFF00_0000 | blue << 16 | green << 8 | red
        }
        self.colors = colors
        self.isGray = isGray
    }
}

/// Writes colours as the pixels of one format of 8 bits a sample.
struct BMPPixelWriter {
    let format: PixelFormat

    /// Writes one colour, with red in the lowest byte, as the pixel at the address.
    @inline(__always)
    func put(_ color: UInt32, _ target: UnsafeMutablePointer<UInt8>) {
        target[0] = UInt8(truncatingIfNeeded: color)
        switch format.channels {
        case .gray: break
        case .grayAlpha: target[1] = UInt8(truncatingIfNeeded: color >> 24)
        case .rgb:
            target[1] = UInt8(truncatingIfNeeded: color >> 8)
            target[2] = UInt8(truncatingIfNeeded: color >> 16)
        case .rgba:
            target[1] = UInt8(truncatingIfNeeded: color >> 8)
            target[2] = UInt8(truncatingIfNeeded: color >> 16)
            target[3] = UInt8(truncatingIfNeeded: color >> 24)
        }
    }
}
