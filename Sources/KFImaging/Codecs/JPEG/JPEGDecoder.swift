import CImageCodecs

/// Decodes baseline, progressive and arithmetic JPEG in grey, YCbCr, RGB, CMYK and YCCK.
struct JPEGDecoder {
    private let bytes: UnsafeRawBufferPointer
    private let structure: JPEGStructure
    private let maxScans: Int

    /// - Throws: `unsupported`, `tooManyScans` and the errors of the other limits.
    init(_ bytes: UnsafeRawBufferPointer, _ limits: DecodeLimits) throws(ImagingError) {
        (self.bytes, structure, maxScans) = (bytes, try JPEGStructure(header: bytes), limits.maxScans)
        try limits.check(structure.size)
        if let undecodable = structure.undecodable { throw .unsupported(.jpeg, feature: undecodable) }
        // Every scan costs a pass over the whole picture, so that too many fail before the first is decoded.
        if structure.isProgressive, try JPEGStructure.scans(in: bytes) > maxScans {
            throw .tooManyScans(maxScans: maxScans)
        }
    }

    /// Decodes the picture once for each request, in one pass over the bytes; all must have the same `numerator`.
    func decode(_ requests: [DecodeOptions]) throws(ImagingError) -> [Image] {
        let plans = try requests.map { (request) throws(ImagingError) in try structure.plan(request) }
        let numerator = plans.map { JPEGScale.numerator(source: $0.source, minimum: $0.minimum) }.max() ?? 1
        let pictures = try pictures(numerator, plans.map(\.exact))
        let profile = try JPEGStructure.iccProfile(in: bytes)
        let metadata = structure.blocks.metadata
        return try pictures.map { (picture) throws(ImagingError) in
            try Image(
                stored: picture, .jpeg, structure.blocks.orientation, profile: profile, metadata: metadata,
                warnings: structure.warningsOfDecoding)
        }
    }

    /// Decodes all data of the picture, and keeps no row. At an eighth of the size, the inverse transform costs least.
    func check() throws(ImagingError) -> [ImageWarning] {
        _ = try decode(1, [])
        return structure.warnings
    }

    /// Returns the picture as stored for each target. Targets that need more detail come from a decode at twice the
    /// scale.
    private func pictures(_ numerator: Int, _ targets: [PixelSize?]) throws(ImagingError) -> [Bitmap] {
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

    /// The part of the decoded size that the picture fills: the last blocks may reach beyond its edge.
    private func extent(_ numerator: Int) -> (width: Double, height: Double) {
        (Double(structure.size.width * numerator) / 8, Double(structure.size.height * numerator) / 8)
    }

    private func decode(
        _ numerator: Int, _ targets: [PixelSize?]
    ) throws(ImagingError) -> (pictures: [Bitmap], detail: FineDetail) {
        var reader = try JPEGReader(bytes)
        guard reader.size == structure.size else { throw .corrupt(.jpeg, reason: "two frame headers") }
        let library = try MemoryReservation(
            structure.size.width * 256 + (reader.hasManyScans ? structure.coefficients * 2 : 0))
        defer { withExtendedLifetime(library) {} }
        let size = try reader.scale(numerator)
        var rows = try RowTarget(
            size, extent: extent(numerator), reader.format, targets: targets,
            sharpening: JPEGScale.sharpening(numerator))
        var detail = FineDetail()
        let channels = reader.format.channelCount
        try reader.start(maxScans: maxScans)
        let inks = reader.isCMYK ? try InkConverter(profile: JPEGStructure.iccProfile(in: bytes)) : nil
        let pictures = try reader.read(into: &rows, width: size.width, through: inks) { rows, bytesPerRow, count in
            guard size.width < structure.size.width else { return }
            detail.add(rows, bytesPerRow: bytesPerRow, count: count, width: size.width, channels: channels)
        }
        try reader.finish()
        return (pictures, detail)
    }
}

/// Reads rows from a JPEG with libjpeg-turbo, at an eighth of its size up to the full size.
struct JPEGReader: ~Copyable {
    private let handle: CodecHandle
    private var header = kf_jpeg_header()
    private var rest = RestOfPicture()

    /// Reads the header. The bytes must stay in place for the lifetime of the reader.
    ///
    /// With `areGrowing`, bytes are still arriving: the header is not read yet, and `supply` hands over more bytes.
    init(_ bytes: UnsafeRawBufferPointer, areGrowing: Bool = false) throws(ImagingError) {
        let data = bytes.bindMemory(to: UInt8.self)
        let handle = try CodecHandle(
            kf_jpeg_reader_create(data.baseAddress, data.count, Tolerance.isInForce ? 1 : 0), .jpeg)
        if !areGrowing { try handle.check(kf_jpeg_reader_header(handle.pointer, &header)) }
        self.handle = handle
    }

    /// The size as stored.
    var size: PixelSize { PixelSize(width: Int(header.width), height: Int(header.height)) }
    var format: PixelFormat { header.channels == 1 ? .gray : .rgb }
    /// Whether the picture is CMYK, with 255 for no ink.
    var isCMYK: Bool { header.channels == 4 }
    var hasManyScans: Bool { header.many_scans != 0 }

    /// Replaces the bytes by a longer prefix of the file. They must stay in place until the next call.
    mutating func supply(_ bytes: UnsafeRawBufferPointer, isAll: Bool) {
        let data = bytes.bindMemory(to: UInt8.self)
        kf_jpeg_reader_supply(handle.pointer, data.baseAddress, data.count, isAll ? 1 : 0)
    }

    /// Reads the header; false when more bytes are needed.
    mutating func readHeader() throws(ImagingError) -> Bool {
        let status = kf_jpeg_reader_header(handle.pointer, &header)
        if status != KF_SUSPENDED { try handle.check(status) }
        return status == KF_OK
    }

    /// Sets the scale to numerator/8 before the start, and returns the resulting size.
    mutating func scale(_ numerator: Int) throws(ImagingError) -> PixelSize {
        var (width, height): (UInt32, UInt32) = (0, 0)
        try handle.check(kf_jpeg_reader_scale(handle.pointer, UInt32(clamping: numerator), &width, &height))
        return PixelSize(width: Int(width), height: Int(height))
    }

    /// Prepares for the first row; absorbs all scans of a progressive picture.
    mutating func start(maxScans: Int) throws(ImagingError) {
        try begin()
        guard hasManyScans else { return }
        while try absorb(maxScans: maxScans) != KF_OK { try ImageCodecs.checkTime() }
        try beginOutput()
    }

    /// Prepares for the scans, or for the first row of a picture with a single scan.
    mutating func begin() throws(ImagingError) {
        try handle.check(kf_jpeg_reader_start(handle.pointer))
    }

    /// Absorbs some more data of the scans. Returns `KF_MORE`, `KF_SCAN` when a scan is complete and the next has begun,
    /// `KF_OK` when the last scan is complete, or `KF_SUSPENDED` when the bytes so far are used up.
    mutating func absorb(maxScans: Int) throws(ImagingError) -> kf_status {
        var scans: UInt32 = 0
        let status = kf_jpeg_reader_absorb(handle.pointer, 16, &scans)
        if scans > maxScans { throw .tooManyScans(maxScans: maxScans) }
        if ![KF_MORE, KF_SCAN, KF_SUSPENDED].contains(status) { try handle.check(status) }
        return status
    }

    /// Prepares for the first row of the picture that the scans so far make.
    mutating func beginOutput() throws(ImagingError) {
        try handle.check(kf_jpeg_reader_begin_output(handle.pointer))
    }

    /// Ends the output of that picture, so that more scans can be absorbed.
    mutating func endOutput() throws(ImagingError) {
        try handle.check(kf_jpeg_reader_end_output(handle.pointer))
    }

    mutating func read(_ rows: UnsafeMutableRawPointer, bytesPerRow: Int, count: Int) throws(ImagingError) {
        try rest.read(rows, bytesPerRow: bytesPerRow, count: count, empty: 128) { (rows, count) throws(ImagingError) in
            let target = rows.assumingMemoryBound(to: UInt8.self)
            try handle.check(
                kf_jpeg_reader_rows(handle.pointer, target, bytesPerRow, UInt32(clamping: count)),
                bytes: bytesPerRow * count)
        }
    }

    /// Reads all rows, and calls `look` with each band of them. `inks` converts those of CMYK to RGB, one by one.
    mutating func read(
        into target: inout RowTarget, width: Int, through inks: InkConverter?,
        look: (UnsafeMutableRawPointer, _ bytesPerRow: Int, _ count: Int) -> Void = { _, _, _ in }
    ) throws(ImagingError) -> [Bitmap] {
        let band = try Scratch.take(UInt8.self, inks == nil ? 0 : width * 4)
        defer { Scratch.give(band) }
        return try target.fill { (rows, bytesPerRow, count) throws(ImagingError) in
            if let inks {
                for index in 0..<count {
                    try read(band, bytesPerRow: width * 4, count: 1)
                    inks.convert(band, to: (rows + index * bytesPerRow).assumingMemoryBound(to: UInt8.self), width)
                }
            } else {
                try read(rows, bytesPerRow: bytesPerRow, count: count)
            }
            look(rows, bytesPerRow, count)
        }
    }

    /// Reads to the end marker, which must be present.
    mutating func finish() throws(ImagingError) {
        if rest.isEmpty { return }
        do throws(ImagingError) {
            try handle.check(kf_jpeg_reader_finish(handle.pointer))
            try handle.check(kf_jpeg_reader_damage(handle.pointer))
        } catch {
            try Tolerance.forgive(error)
        }
    }
}
