/// Decodes JPEG: baseline, progressive and arithmetic, grey, YCbCr, RGB, CMYK and YCCK.
enum JPEGDecoder {
    static func decode(_ bytes: UnsafeRawBufferPointer, options: DecodeOptions) throws(ImagingError) -> Image {
        try decode(bytes, plans: [options])[0]
    }

    /// The picture at several sizes, in one pass; they must have the same `numerator`.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [Image] {
        try decode(bytes, plans: sizes.map(options.sized))
    }

    /// The eighths of its size that a picture is first decoded at for these options; one with much fine detail is then
    /// decoded at more.
    static func numerator(_ structure: JPEGStructure, _ options: DecodeOptions) throws(ImagingError) -> Int {
        let source = PixelSize(width: structure.width, height: structure.height)
        let plan = try DecodePlan(
            options, source: source, orientation: structure.orientation,
            bytesPerPixel: structure.components == 1 ? 1 : 3)
        return JPEGScale.numerator(source: source, minimum: plan.minimum)
    }

    private static func decode(
        _ bytes: UnsafeRawBufferPointer, plans requests: [DecodeOptions]
    ) throws(ImagingError) -> [Image] {
        let limits = requests[0].limits
        let deadline = Allowance.deadline(limits)
        let structure = try decodableStructure(bytes, limits)
        let source = PixelSize(width: structure.width, height: structure.height)
        let bytesPerPixel = structure.components == 1 ? 1 : 3
        var targets: [PixelSize?] = []
        var numerator = 1
        for request in requests {
            let plan = try DecodePlan(
                request, source: source, orientation: structure.orientation, bytesPerPixel: bytesPerPixel)
            targets.append(plan.exact)
            numerator = max(numerator, JPEGScale.numerator(source: source, minimum: plan.minimum))
        }
        let pictures = try Pass(
            bytes: bytes, structure: structure, maxScans: limits.maxScans, deadline: deadline
        ).pictures(numerator, targets)
        let profile = ICCProfile.fitting(structure.iccProfile(in: bytes), pictures[0].format)
        let metadata = structure.metadata(in: bytes)
        var images: [Image] = []
        for picture in pictures {
            var image = Image(try picture.oriented(structure.orientation), sourceFormat: .jpeg, iccProfile: profile)
            image.metadata = metadata
            image.warnings = structure.warnings
            images.append(image)
        }
        return images
    }

    /// Decodes all data of the picture, at an eighth of its size, and keeps no row.
    static func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        let deadline = Allowance.deadline(limits)
        let structure = try decodableStructure(bytes, limits)
        try Pass(bytes: bytes, structure: structure, maxScans: limits.maxScans, deadline: deadline).check()
        return structure.warnings
    }

    private static func decodableStructure(
        _ bytes: UnsafeRawBufferPointer, _ limits: DecodeLimits
    ) throws(ImagingError) -> JPEGStructure {
        let structure = try JPEGStructure(header: bytes)
        try limits.check(width: structure.width, height: structure.height)
        if let undecodable = structure.undecodable { throw .unsupported(.jpeg, feature: undecodable) }
        // Every scan goes over the whole picture, so that many are refused before the first is decoded.
        if structure.isProgressive, try JPEGStructure.scans(in: bytes) > limits.maxScans {
            throw .tooManyScans(maxScans: limits.maxScans)
        }
        return structure
    }
}

/// One way through the bytes, or several where the picture turns out to need a decode at a larger size.
private struct Pass {
    let bytes: UnsafeRawBufferPointer
    let structure: JPEGStructure
    let maxScans: Int
    let deadline: Deadline

    /// The picture, not turned yet, for each target. Those that need more detail than this decode keeps are made from
    /// one at twice the size.
    func pictures(_ numerator: Int, _ targets: [PixelSize?]) throws(ImagingError) -> [Bitmap] {
        var (pictures, detail) = try decode(numerator, targets)
        guard numerator < 8 else { return pictures }
        let reserve = JPEGScale.reserve(detail)
        let extent = extent(numerator)
        let lacking = targets.indices.filter { index in
            guard let target = targets[index] else { return false }
            return extent.width < Double(target.width) * reserve || extent.height < Double(target.height) * reserve
        }
        if lacking.isEmpty { return pictures }
        let better = try self.pictures(numerator * 2, lacking.map { targets[$0] })
        for (index, picture) in zip(lacking, better) { pictures[index] = picture }
        return pictures
    }

    /// Every code is read whatever the size; at an eighth only the smallest part of the inverse transform is done.
    func check() throws(ImagingError) {
        _ = try decode(1, [])
    }

    /// How much of the decoded size the picture fills: the last blocks may lie beyond its edge.
    private func extent(_ numerator: Int) -> (width: Double, height: Double) {
        (Double(structure.width * numerator) / 8, Double(structure.height * numerator) / 8)
    }

    private func decode(
        _ numerator: Int, _ targets: [PixelSize?]
    ) throws(ImagingError) -> (pictures: [Bitmap], detail: FineDetail) {
        var reader = try JPEGReader(bytes)
        guard reader.header.width == structure.width, reader.header.height == structure.height else {
            throw .corrupt(.jpeg, reason: "two frame headers")
        }
        let library = try MemoryReservation(
            structure.width * 256 + (reader.header.hasManyScans ? structure.coefficients * 2 : 0))
        defer { withExtendedLifetime(library) {} }
        let size = try reader.scale(numerator)
        let format: PixelFormat = reader.header.channels == 1 ? .gray : .rgb
        var rows = try RowTarget(
            size, extent: extent(numerator), format, targets: targets, sharpening: JPEGScale.sharpening(numerator))
        let detail = try read(&reader, into: &rows, size, format)
        return (rows.pictures, detail)
    }

    private func read(
        _ reader: inout JPEGReader, into target: inout RowTarget, _ size: PixelSize, _ format: PixelFormat
    ) throws(ImagingError) -> FineDetail {
        var detail = FineDetail()
        try reader.start(maxScans: maxScans, deadline)
        let inks = reader.header.channels == 4 ? InkConverter(profile: structure.iccProfile(in: bytes)) : nil
        // CMYK comes a row at a time and is turned into RGB on the way.
        let band = try Scratch.take(UInt8.self, inks == nil ? 0 : size.width * 4)
        defer { Scratch.give(band) }
        while !target.isFull {
            try target.take { (rows, bytesPerRow, count) throws(ImagingError) in
                if let inks {
                    for index in 0..<count {
                        try reader.read(band, bytesPerRow: size.width * 4, count: 1)
                        let row = (rows + index * bytesPerRow).assumingMemoryBound(to: UInt8.self)
                        inks.convert(band, to: row, size.width)
                    }
                } else {
                    try reader.read(rows, bytesPerRow: bytesPerRow, count: count)
                }
                guard size.width < structure.width else { return }
                detail.add(
                    rows, bytesPerRow: bytesPerRow, count: count, width: size.width, channels: format.channelCount)
            }
            try deadline.check()
        }
        try reader.finish()
        return detail
    }
}
