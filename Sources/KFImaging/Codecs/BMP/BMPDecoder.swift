/// Decodes BMP files, and the bitmaps inside ICO files.
enum BMPDecoder {
    /// Decodes the picture once for each request, in one pass over the bytes.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, _ header: BMPHeader, _ requests: [DecodeOptions]
    ) throws(ImagingError) -> [Image] {
        let limits = requests[0].limits
        try limits.check(width: header.width, height: header.height)
        let pictures: [Bitmap]
        switch header.storage {
        case .rows: pictures = try readRows(bytes, header, requests)
        case .runs: pictures = try readRuns(bytes, header, requests)
        case .unsupported(let feature): throw .unsupported(header.container, feature: feature)
        }
        return pictures.map { picture in
            Image(
                picture, sourceFormat: header.container,
                iccProfile: ICCProfile.fitting(header.profile.map { Array(bytes[$0]) }, picture.format))
        }
    }

    /// Finds every kind of damage: missing rows, and damaged runs.
    ///
    /// - Throws: `truncated`, `corrupt`.
    static func check(_ bytes: UnsafeRawBufferPointer, _ header: BMPHeader) throws(ImagingError) {
        switch header.storage {
        case .rows:
            try checkRows(bytes, header)
            if header.isIcon { _ = try BMPRows(bytes, header) }
        case .runs: _ = try BMPRuns.coverage(bytes, header)
        case .unsupported: break
        }
    }

    /// - Throws: `truncated` when the bytes do not hold every row.
    private static func checkRows(_ bytes: UnsafeRawBufferPointer, _ header: BMPHeader) throws(ImagingError) {
        // The padding of the last row may be missing.
        let last = (header.width * header.depth + 7) / 8
        let (before, overflow) = header.bytesPerRow.multipliedReportingOverflow(by: header.height - 1)
        guard !overflow, header.data <= bytes.count - last, before <= bytes.count - last - header.data else {
            throw .truncated(header.container)
        }
    }

    /// Checks like `check`, within the limits.
    ///
    /// - Throws: what `decode` throws.
    static func check(
        _ bytes: UnsafeRawBufferPointer, _ header: BMPHeader, limits: DecodeLimits
    ) throws(ImagingError) {
        try limits.check(width: header.width, height: header.height)
        if case .unsupported(let feature) = header.storage {
            throw .unsupported(header.container, feature: feature)
        }
        try check(bytes, header)
    }

    /// The facts that the headers state. Run lengths tell by walking them whether they skip pixels.
    static func info(_ bytes: UnsafeRawBufferPointer, _ header: BMPHeader) -> ImageInfo {
        var hasAlpha = header.isIcon || header.masks[3] != 0
        if header.storage == .runs { hasAlpha = (try? BMPRuns.coverage(bytes, header)) != .whole }
        return ImageInfo(
            format: header.container, width: header.width, height: header.height, hasAlpha: hasAlpha,
            colorModel: header.depth <= 8 ? .indexed : .rgb, bitDepth: header.bitDepth)
    }

    /// Reads rows from the top down: the place of each is known, so that no picture of the full size is held.
    private static func readRows(
        _ bytes: UnsafeRawBufferPointer, _ header: BMPHeader, _ requests: [DecodeOptions]
    ) throws(ImagingError) -> [Bitmap] {
        try checkRows(bytes, header)
        let deadline = Allowance.deadline(requests[0].limits)
        let source = try BMPRows(bytes, header)
        var rows = try RowTarget(
            header.size, source.format,
            targets: DecodePlan.targets(
                requests, source: header.size, bytesPerPixel: source.format.bytesPerPixel))
        var first = 0
        while !rows.isFull {
            try rows.take { (base, bytesPerRow, count) throws(ImagingError) in
                for index in 0..<count {
                    source.read(
                        first + index, to: (base + index * bytesPerRow).assumingMemoryBound(to: UInt8.self))
                }
                first += count
            }
            try deadline.check()
        }
        return rows.pictures
    }

    private static func readRuns(
        _ bytes: UnsafeRawBufferPointer, _ header: BMPHeader, _ requests: [DecodeOptions]
    ) throws(ImagingError) -> [Bitmap] {
        let isWhole = try BMPRuns.coverage(bytes, header) == .whole
        let palette = BMPPalette(bytes, header)
        var format: PixelFormat = isWhole ? .rgb : .rgba
        if header.depth <= 8, palette.isGray { format = isWhole ? .gray : .grayAlpha }
        let targets = try DecodePlan.targets(
            requests, source: header.size, bytesPerPixel: format.bytesPerPixel)
        var picture = try Bitmap(width: header.width, height: header.height, format: format)
        try BMPRuns.paint(bytes, header, palette, onto: &picture)
        return try Resampler.resize(picture, to: targets)
    }
}
