/// Decodes PNG: every type and depth, interlaced or not; of an animated one the first image.
enum PNGDecoder {
    static func decode(_ bytes: UnsafeRawBufferPointer, options: DecodeOptions) throws(ImagingError) -> Image {
        let deadline = Deadline(options.limits.timeLimit)
        let structure = try PNGStructure(bytes)
        try options.limits.check(width: structure.width, height: structure.height)
        // libpng is not asked for anything behind the last row, so that a tail of image data costs nothing;
        // whether the file is whole shows in its chunks.
        if !structure.isComplete { throw .truncated(.png) }

        var reader = try PNGReader(bytes)
        guard reader.width == structure.width, reader.height == structure.height else {
            throw .corrupt(.png, reason: "two headers")
        }
        var bitmap = try Bitmap(uninitialized: reader.width, reader.height, reader.format)
        let step = Deadline.rowsPerLook(width: reader.width)
        for _ in 0..<reader.passes {
            var y = 0
            while y < reader.height {
                let count = min(step, reader.height - y)
                try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
                    try reader.read(rows.row(y), bytesPerRow: rows.bytesPerRow, count: count)
                }
                try deadline.check()
                y += count
            }
        }
        return Image(
            try bitmap.oriented(structure.orientation), sourceFormat: .png,
            iccProfile: ICCProfile.fitting(reader.iccProfile, bitmap.format))
    }
}
