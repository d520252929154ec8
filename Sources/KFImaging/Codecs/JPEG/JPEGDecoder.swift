import CImageCodecs

/// Decodes baseline, progressive and arithmetic JPEG in grey, YCbCr, RGB, CMYK and YCCK.
enum JPEGDecoder {
    /// Returns the scale, in eighths, of the first decode for these options. A picture with much fine detail is then
    /// decoded again at a larger scale.
    static func numerator(_ structure: JPEGStructure, _ options: DecodeOptions) throws(ImagingError) -> Int {
        let source = PixelSize(width: structure.width, height: structure.height)
        let plan = try DecodePlan(
            options, source: source, orientation: structure.orientation,
            bytesPerPixel: structure.components == 1 ? 1 : 3)
        return JPEGScale.numerator(source: source, minimum: plan.minimum)
    }

    /// Decodes the picture once for each request, in one pass over the bytes; all must have the same `numerator`.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, _ requests: [DecodeOptions]
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
        let profile = try ICCProfile.fitting(JPEGStructure.iccProfile(in: bytes), pictures[0].format)
        let metadata = structure.metadata(in: bytes)
        return try pictures.map { (picture) throws(ImagingError) in
            try Image(
                stored: picture, .jpeg, structure.orientation, profile: profile, metadata: metadata,
                warnings: structure.warnings)
        }
    }

    /// Decodes all data of the picture at an eighth of its size, and keeps no row.
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
        // Every scan costs a pass over the whole picture, so that too many fail before the first is decoded.
        if structure.isProgressive, try JPEGStructure.scans(in: bytes) > limits.maxScans {
            throw .tooManyScans(maxScans: limits.maxScans)
        }
        return structure
    }
}

/// One decode of the bytes, and more at larger scales for targets that need more detail.
private struct Pass {
    let bytes: UnsafeRawBufferPointer
    let structure: JPEGStructure
    let maxScans: Int
    let deadline: Deadline

    /// Returns the picture as stored for each target. Targets that need more detail come from a decode at twice the
    /// scale.
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

    /// Decodes every code; at an eighth of the size, the inverse transform costs least.
    func check() throws(ImagingError) {
        _ = try decode(1, [])
    }

    /// The part of the decoded size that the picture fills: the last blocks may reach beyond its edge.
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
        let inks = reader.header.channels == 4 ? try InkConverter(profile: JPEGStructure.iccProfile(in: bytes)) : nil
        let band = try Scratch.take(UInt8.self, inks == nil ? 0 : size.width * 4)
        defer { Scratch.give(band) }
        while !target.isFull {
            try target.take { (rows, bytesPerRow, count) throws(ImagingError) in
                try reader.read(rows, bytesPerRow: bytesPerRow, count: count, through: inks, band, width: size.width)
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

/// Reads rows from a JPEG with libjpeg-turbo, at an eighth of its size up to the full size.
struct JPEGReader: ~Copyable {
    struct Header {
        /// The width as stored.
        var width = 0
        var height = 0
        /// 1 for grey, 3 for RGB, 4 for CMYK with 255 for no ink.
        var channels = 0
        var hasManyScans = false
    }

    /// The result of absorbing more data of the scans.
    enum Progress {
        case more
        /// A scan is complete and the next has begun.
        case scan
        /// The last scan is complete.
        case end
        /// The bytes so far are used up.
        case suspended
    }

    private let handle: OpaquePointer
    private(set) var header: Header

    /// Reads the header. The bytes must stay in place for the lifetime of the reader.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        let handle = try JPEGReader.create(bytes)
        do {
            header = try JPEGReader.header(handle) ?? Header()
        } catch {
            kf_jpeg_reader_destroy(handle)
            throw error
        }
        self.handle = handle
    }

    /// Makes a reader for bytes that are still arriving; `supply` gives it more.
    init(growing bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        handle = try JPEGReader.create(bytes)
        header = Header()
    }

    deinit {
        kf_jpeg_reader_destroy(handle)
    }

    private static func create(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> OpaquePointer {
        let data = bytes.bindMemory(to: UInt8.self)
        guard let handle = kf_jpeg_reader_create(data.baseAddress, data.count) else {
            throw .outOfMemory(bytes: 1 << 16)
        }
        return handle
    }

    /// Replaces the bytes by a longer prefix of the file. They must stay in place until the next call.
    mutating func supply(_ bytes: UnsafeRawBufferPointer, isAll: Bool) {
        let data = bytes.bindMemory(to: UInt8.self)
        kf_jpeg_reader_supply(handle, data.baseAddress, data.count, isAll ? 1 : 0)
    }

    /// Reads the header; false when more bytes are needed.
    mutating func readHeader() throws(ImagingError) -> Bool {
        guard let header = try JPEGReader.header(handle) else { return false }
        self.header = header
        return true
    }

    private static func header(_ handle: OpaquePointer) throws(ImagingError) -> Header? {
        var header = kf_jpeg_header()
        let status = kf_jpeg_reader_header(handle, &header)
        if status == KF_SUSPENDED { return nil }
        try CodecStatus.check(status, .jpeg, bytes: 1 << 16, kf_jpeg_reader_message(handle))
        return Header(
            width: Int(header.width), height: Int(header.height), channels: Int(header.channels),
            hasManyScans: header.many_scans != 0)
    }

    /// Sets the scale to numerator/8 before the start, and returns the resulting size.
    mutating func scale(_ numerator: Int) throws(ImagingError) -> PixelSize {
        var (width, height): (UInt32, UInt32) = (0, 0)
        try check(kf_jpeg_reader_scale(handle, UInt32(numerator), &width, &height))
        return PixelSize(width: Int(width), height: Int(height))
    }

    /// Prepares for the first row; absorbs all scans of a progressive picture.
    mutating func start(maxScans: Int, _ deadline: Deadline) throws(ImagingError) {
        try begin()
        guard header.hasManyScans else { return }
        while try absorb(maxScans: maxScans) != .end { try deadline.check() }
        try beginOutput()
    }

    /// Prepares for the scans, or for the first row of a picture with a single scan.
    mutating func begin() throws(ImagingError) {
        try check(kf_jpeg_reader_start(handle))
    }

    /// Absorbs some more data of the scans.
    mutating func absorb(maxScans: Int) throws(ImagingError) -> Progress {
        var scans: UInt32 = 0
        let status = kf_jpeg_reader_absorb(handle, 16, &scans)
        if scans > maxScans { throw .tooManyScans(maxScans: maxScans) }
        switch status {
        case KF_MORE: return .more
        case KF_SCAN: return .scan
        case KF_SUSPENDED: return .suspended
        default:
            try check(status)
            return .end
        }
    }

    /// Prepares for the first row of the picture that the scans so far make.
    mutating func beginOutput() throws(ImagingError) {
        try check(kf_jpeg_reader_begin_output(handle))
    }

    /// Ends the output of that picture, so that more scans can be absorbed.
    mutating func endOutput() throws(ImagingError) {
        try check(kf_jpeg_reader_end_output(handle))
    }

    mutating func read(_ rows: UnsafeMutableRawPointer, bytesPerRow: Int, count: Int) throws(ImagingError) {
        let target = rows.assumingMemoryBound(to: UInt8.self)
        try check(kf_jpeg_reader_rows(handle, target, bytesPerRow, UInt32(count)), bytes: bytesPerRow * count)
    }

    /// Reads rows; those of CMYK one by one into the band, from which `inks` converts them to RGB.
    mutating func read(
        _ rows: UnsafeMutableRawPointer, bytesPerRow: Int, count: Int, through inks: InkConverter?,
        _ band: UnsafeMutablePointer<UInt8>, width: Int
    ) throws(ImagingError) {
        guard let inks else { return try read(rows, bytesPerRow: bytesPerRow, count: count) }
        for index in 0..<count {
            try read(band, bytesPerRow: width * 4, count: 1)
            inks.convert(band, to: (rows + index * bytesPerRow).assumingMemoryBound(to: UInt8.self), width)
        }
    }

    /// Reads to the end marker, which must be present.
    mutating func finish() throws(ImagingError) {
        try check(kf_jpeg_reader_finish(handle))
    }

    private func check(_ status: kf_status, bytes: Int = 1 << 16) throws(ImagingError) {
        try CodecStatus.check(status, .jpeg, bytes: bytes, kf_jpeg_reader_message(handle))
    }
}
