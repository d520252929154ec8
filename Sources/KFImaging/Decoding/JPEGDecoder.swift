/// Decodes JPEG: baseline, progressive and arithmetic, grey, YCbCr, RGB, CMYK and YCCK.
enum JPEGDecoder {
    static func decode(_ bytes: UnsafeRawBufferPointer, options: DecodeOptions) throws(ImagingError) -> Image {
        let deadline = Deadline(options.limits.timeLimit)
        let structure = try JPEGStructure(header: bytes)
        try options.limits.check(width: structure.width, height: structure.height)

        var reader = try JPEGReader(bytes)
        guard reader.width == structure.width, reader.height == structure.height else {
            throw .corrupt(.jpeg, reason: "two frame headers")
        }
        let numerator = JPEGScale.numerator(
            source: PixelSize(width: reader.width, height: reader.height),
            minimum: structure.orientation.swapsSides ? options.minimumSize?.turned : options.minimumSize,
            maxBytes: options.limits.scaleDownBytes, bytesPerPixel: reader.channels == 1 ? 1 : 3)
        let size = try reader.scale(numerator)
        var bitmap = try Bitmap(uninitialized: size.width, size.height, reader.channels == 1 ? .gray : .rgb)
        try reader.start(maxScans: options.limits.maxScans, deadline)
        if reader.channels == 4 {
            try readInks(&reader, into: &bitmap, deadline)
        } else {
            try readRows(&reader, into: &bitmap, deadline)
        }
        try reader.finish()
        return Image(
            try bitmap.oriented(structure.orientation), sourceFormat: .jpeg,
            iccProfile: ICCProfile.fitting(structure.iccProfile(in: bytes), bitmap.format))
    }

    private static func readRows(
        _ reader: inout JPEGReader, into bitmap: inout Bitmap, _ deadline: Deadline
    ) throws(ImagingError) {
        let step = Deadline.rowsPerLook(width: bitmap.width)
        var y = 0
        while y < bitmap.height {
            let count = min(step, bitmap.height - y)
            try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
                try reader.read(rows.row(y), bytesPerRow: rows.bytesPerRow, count: count)
            }
            try deadline.check()
            y += count
        }
    }

    /// CMYK comes a band at a time and is turned into RGB on the way.
    private static func readInks(
        _ reader: inout JPEGReader, into bitmap: inout Bitmap, _ deadline: Deadline
    ) throws(ImagingError) {
        let step = min(bitmap.height, max(1, 65_536 / bitmap.width))
        let inkPerRow = bitmap.width * 4
        let band = UnsafeMutablePointer<UInt8>.allocate(capacity: inkPerRow * step)
        defer { band.deallocate() }
        var y = 0
        while y < bitmap.height {
            let count = min(step, bitmap.height - y)
            try reader.read(band, bytesPerRow: inkPerRow, count: count)
            let inverted = reader.isInverted
            try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
                for index in 0..<count {
                    Ink.convert(band + index * inkPerRow, to: rows.row(y + index), rows.width, inverted: inverted)
                }
            }
            try deadline.check()
            y += count
        }
    }
}
