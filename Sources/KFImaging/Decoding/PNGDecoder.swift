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
        let size = PixelSize(width: reader.width, height: reader.height)
        let plan = try DecodePlan(
            options, source: size, orientation: structure.orientation, bytesPerPixel: reader.format.bytesPerPixel)
        var picture: Bitmap
        if reader.passes == 1 {
            picture = try readOnce(&reader, size, target: plan.exact, deadline)
        } else {
            picture = try readPasses(&reader, deadline)
            if let exact = plan.exact { picture = try Resampler.resize(picture, to: exact) }
        }
        var image = Image(
            try picture.oriented(structure.orientation), sourceFormat: .png,
            iccProfile: ICCProfile.fitting(reader.iccProfile, reader.format))
        image.metadata = structure.metadata(in: bytes)
        return image
    }

    private static func readOnce(
        _ reader: inout PNGReader, _ size: PixelSize, target: PixelSize?, _ deadline: Deadline
    ) throws(ImagingError) -> Bitmap {
        var rows = try RowTarget(size, reader.format, target: target)
        while !rows.isFull {
            try rows.take { (base, bytesPerRow, count) throws(ImagingError) in
                try reader.read(base, bytesPerRow: bytesPerRow, count: count)
            }
            try deadline.check()
        }
        return rows.picture
    }

    /// Interlaced, every pass goes over the whole picture, which must be there for it.
    private static func readPasses(_ reader: inout PNGReader, _ deadline: Deadline) throws(ImagingError) -> Bitmap {
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
        return bitmap
    }
}
