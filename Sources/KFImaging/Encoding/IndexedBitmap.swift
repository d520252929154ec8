/// A picture of at most 256 colours, as indexes into a palette.
struct IndexedBitmap {
    /// One byte a pixel.
    let indexes: Bitmap
    /// RGBA, four bytes a colour.
    let palette: [UInt8]

    /// The same picture with a palette; nil where it has too many colours, is grey or 16 bits deep (a palette would
    /// change what it reads back as), or is so small that the palette would cost more than it saves.
    ///
    /// - Throws: `timeLimit`.
    static func exactly(_ bitmap: Bitmap) throws(ImagingError) -> IndexedBitmap? {
        // Without memory for the indexes there is no palette, and the picture is written as it is.
        guard !bitmap.format.isGray, bitmap.format.depth == .eight,
            var indexes = try? Bitmap(uninitialized: bitmap.width, bitmap.height, .gray)
        else { return nil }
        var table = ColorTable()
        let channels = bitmap.format.channelCount
        let fits = try indexes.withUnsafeMutableRows { (target) throws(ImagingError) in
            try bitmap.withUnsafeRows { (source) throws(ImagingError) in
                var pace = Pace()
                for y in 0..<source.height {
                    try pace.advance(source.width)
                    var pixel = source.row(y)
                    let output = target.row(y)
                    var last: (color: UInt32, index: UInt8)?
                    for x in 0..<source.width {
                        let alpha = channels == 4 ? UInt32(pixel[3]) : 255
                        let color = UInt32(pixel[0]) | UInt32(pixel[1]) << 8 | UInt32(pixel[2]) << 16 | alpha << 24
                        if last?.color != color {
                            guard let index = table.index(of: color) else { return false }
                            last = (color, index)
                        }
                        output[x] = last?.index ?? 0
                        pixel += channels
                    }
                }
                return true
            }
        }
        guard fits, table.colors.count * 4 < bitmap.width * bitmap.height * (channels - 1) else { return nil }
        let palette = table.colors.flatMap { color in (0..<4).map { UInt8(truncatingIfNeeded: color >> ($0 * 8)) } }
        return IndexedBitmap(indexes: indexes, palette: palette)
    }
}
