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

    /// The eighths of its size that a picture is decoded at for these options.
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
        let structure = try JPEGStructure(header: bytes)
        try limits.check(width: structure.width, height: structure.height)
        if let undecodable = structure.undecodable { throw .unsupported(.jpeg, feature: undecodable) }
        // Every scan goes over the whole picture, so that many are refused before the first is decoded.
        if structure.isProgressive, try JPEGStructure.scans(in: bytes) > limits.maxScans {
            throw .tooManyScans(maxScans: limits.maxScans)
        }
        var reader = try JPEGReader(bytes)
        guard reader.header.width == structure.width, reader.header.height == structure.height else {
            throw .corrupt(.jpeg, reason: "two frame headers")
        }
        let library = try MemoryReservation(
            structure.width * 256 + (reader.header.hasManyScans ? structure.coefficients * 2 : 0))
        defer { withExtendedLifetime(library) {} }
        let source = PixelSize(width: reader.header.width, height: reader.header.height)
        let format: PixelFormat = reader.header.channels == 1 ? .gray : .rgb
        var targets: [PixelSize?] = []
        var numerator = 1
        for request in requests {
            let plan = try DecodePlan(
                request, source: source, orientation: structure.orientation, bytesPerPixel: format.bytesPerPixel)
            targets.append(plan.exact)
            numerator = max(numerator, JPEGScale.numerator(source: source, minimum: plan.minimum))
        }
        let size = try reader.scale(numerator)
        let extent = (Double(source.width * numerator) / 8, Double(source.height * numerator) / 8)
        var target = try RowTarget(size, extent: extent, format, targets: targets)
        try reader.start(maxScans: limits.maxScans, deadline)
        let profile = structure.iccProfile(in: bytes)
        if reader.header.channels == 4 {
            try readInks(&reader, into: &target, width: size.width, profile, deadline)
        } else {
            while !target.isFull {
                try target.take { (rows, bytesPerRow, count) throws(ImagingError) in
                    try reader.read(rows, bytesPerRow: bytesPerRow, count: count)
                }
                try deadline.check()
            }
        }
        try reader.finish()
        let fitting = ICCProfile.fitting(profile, format)
        let metadata = structure.metadata(in: bytes)
        var images: [Image] = []
        for picture in target.pictures {
            var image = Image(try picture.oriented(structure.orientation), sourceFormat: .jpeg, iccProfile: fitting)
            image.metadata = metadata
            image.warnings = structure.warnings
            images.append(image)
        }
        return images
    }

    /// CMYK comes a band at a time and is turned into RGB on the way.
    private static func readInks(
        _ reader: inout JPEGReader, into target: inout RowTarget, width: Int, _ profile: [UInt8]?, _ deadline: Deadline
    ) throws(ImagingError) {
        let inks = InkConverter(profile: profile, inverted: reader.header.isInverted)
        let band = try Scratch.take(UInt8.self, width * 4)
        defer { Scratch.give(band) }
        while !target.isFull {
            try target.take { (rows, bytesPerRow, count) throws(ImagingError) in
                for index in 0..<count {
                    try reader.read(band, bytesPerRow: width * 4, count: 1)
                    inks.convert(band, to: (rows + index * bytesPerRow).assumingMemoryBound(to: UInt8.self), width)
                }
            }
            try deadline.check()
        }
    }
}
