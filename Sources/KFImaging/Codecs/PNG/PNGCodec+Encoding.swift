import CImageCodecs

extension PNGCodec {
    /// Encodes PNG, with a palette for up to 256 colours, else with 8 or 16 bits a sample.
    ///
    /// libpng refuses profiles that other formats carry, such as one with an invalid rendering intent. The pixels are
    /// converted to sRGB then.
    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        if let file = try file(of: image, options) { return file }
        var plain = try image.convertedToSRGB()
        plain.iccProfile = nil
        guard let file = try file(of: plain, options) else { throw .encodingFailed(.png, reason: "a refused profile") }
        return file
    }

    /// Nil for a profile that libpng refuses.
    private func file(of image: Image, _ options: EncodeOptions) throws(ImagingError) -> [UInt8]? {
        let bitmap = image.bitmap
        let writer = try CodecHandle(writing: image, as: .png, longestSide: Int(Int32.max), kf_png_writer_create)
        let indexed = try IndexedBitmap.exactly(bitmap)
        var output = kf_png_output()
        (output.width, output.height) = (UInt32(clamping: bitmap.width), UInt32(clamping: bitmap.height))
        output.channels = indexed == nil ? UInt32(clamping: bitmap.format.channelCount) : 1
        output.depth = UInt32(clamping: bitmap.format.depth.rawValue)
        output.level = Int32(clamping: min(max(options.compressionLevel, 0), 9))
        // libpng takes a C string.
        let xmp = image.metadata?.xmp.map { $0.contains(0) ? [] : $0 + [0] }
        let profile = ICCProfile.fitting(image.iccProfile, bitmap.format)
        let isTaken = try withBlocks(profile, exif: image.metadata?.exif, xmp: xmp) { (blocks) throws(ImagingError) in
            let palette = indexed?.palette ?? []
            let status = palette.withUnsafeBufferPointer { palette in
                output.palette = palette.isEmpty ? nil : palette.baseAddress
                output.palette_count = UInt32(clamping: palette.count / 4)
                return kf_png_writer_start(writer.pointer, &output, &blocks)
            }
            if status != KF_UNSUPPORTED { try writer.check(status) }
            return status == KF_OK
        }
        guard isTaken else { return nil }
        // The rows that libpng keeps, and zlib's state.
        let library = try MemoryReservation(bitmap.width * 4 * bitmap.format.bytesPerPixel + (1 << 19))
        defer { withExtendedLifetime(library) {} }
        try (indexed?.indexes ?? bitmap).withSlices { (rows, first, count) throws(ImagingError) in
            try writer.check(
                kf_png_writer_rows(writer.pointer, rows.row(first), rows.bytesPerRow, UInt32(clamping: count)))
        }
        return try writer.file(kf_png_writer_finish)
    }
}

/// A picture of at most 256 colours as indices into a palette.
struct IndexedBitmap {
    /// The indices, one byte a pixel.
    let indexes: Bitmap
    /// The colours as RGBA, four bytes each.
    let palette: [UInt8]

    /// Returns the picture with a palette; nil when it has too many colours, or is smaller without.
    ///
    /// Grey pictures and those of 16 bits have none, because they would be decoded in another format.
    ///
    /// - Throws: `timeLimit`.
    static func exactly(_ bitmap: Bitmap) throws(ImagingError) -> IndexedBitmap? {
        // Without memory for the indices the picture is written without a palette.
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
                    let (row, output) = (source.row(y), target.row(y))
                    func color(_ x: Int) -> UInt32 {
                        let pixel = row + x * channels
                        let alpha = channels == 4 ? UInt32(pixel[3]) : 255
                        return UInt32(pixel[0]) | UInt32(pixel[1]) << 8 | UInt32(pixel[2]) << 16 | alpha << 24
                    }
                    guard table.number(source.width, color, { output[$0] = $1 }) else { return false }
                }
                return true
            }
        }
        guard fits, table.colors.count * 4 < bitmap.width * bitmap.height * (channels - 1) else { return nil }
        let palette = table.colors.flatMap { color in (0..<4).map { UInt8(truncatingIfNeeded: color >> ($0 * 8)) } }
        return IndexedBitmap(indexes: indexes, palette: palette)
    }
}
