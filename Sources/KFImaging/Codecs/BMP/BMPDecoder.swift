/// Decodes BMP files, and the bitmaps inside ICO files.
enum BMPDecoder {
    /// Decodes the picture once for each request, in one pass over the bytes.
    static func decode(_ header: BMPHeader, _ requests: [DecodeOptions]) throws(ImagingError) -> [Image] {
        try requests[0].limits.check(header.size)
        let pictures: [Bitmap]
        switch header.storage {
        case .rows: pictures = try readRows(header, requests)
        case .runs: pictures = try readRuns(header, requests)
        case .unsupported(let feature): throw .unsupported(header.container, feature: feature)
        }
        let profile = header.profile.map { Array(header.bytes[$0]) }
        return try pictures.map { (picture) throws(ImagingError) in
            try Image(stored: picture, header.container, .upright, profile: profile, metadata: nil)
        }
    }

    /// Checks the structure within the limits, which finds all that `decode` finds.
    ///
    /// - Throws: what `decode` throws.
    static func check(_ header: BMPHeader, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        try limits.check(header.size)
        if case .unsupported(let feature) = header.storage {
            throw .unsupported(header.container, feature: feature)
        }
        return try header.check()
    }

    /// Reads rows from the top down: the place of each is known, so that no picture of the full size is held.
    private static func readRows(_ header: BMPHeader, _ requests: [DecodeOptions]) throws(ImagingError) -> [Bitmap] {
        try header.checkRows()
        let source = try BMPRows(header)
        let targets = try DecodePlan.targets(
            requests, source: header.size, bytesPerPixel: source.format.bytesPerPixel)
        var rows = try RowTarget(header.size, source.format, targets: targets)
        var first = 0
        return try rows.fill { (base, bytesPerRow, count) throws(ImagingError) in
            for index in 0..<count {
                source.read(first + index, to: (base + index * bytesPerRow).assumingMemoryBound(to: UInt8.self))
            }
            first += count
        }
    }

    private static func readRuns(_ header: BMPHeader, _ requests: [DecodeOptions]) throws(ImagingError) -> [Bitmap] {
        let isWhole = try BMPRuns.walk(header).isWhole
        let palette = BMPPalette(header)
        var format: PixelFormat = isWhole ? .rgb : .rgba
        if header.depth <= 8, palette.isGray { format = isWhole ? .gray : .grayAlpha }
        let targets = try DecodePlan.targets(requests, source: header.size, bytesPerPixel: format.bytesPerPixel)
        var picture = try Bitmap(width: header.size.width, height: header.size.height, format: format)
        try BMPRuns.paint(header, palette, onto: &picture)
        return try Resampler.resize(picture, to: targets)
    }
}
