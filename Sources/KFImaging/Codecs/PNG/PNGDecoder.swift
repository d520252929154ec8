import CImageCodecs

/// Decodes PNG of every colour type and depth, interlaced or not; of an animated PNG its default image.
enum PNGDecoder {
    /// Decodes the picture once for each request, in one pass over the bytes.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure, _ requests: [DecodeOptions]
    ) throws(ImagingError) -> [Image] {
        let deadline = Allowance.deadline(requests[0].limits)
        let library = try MemoryReservation(structure.libraryBytes)
        defer { withExtendedLifetime(library) {} }
        var reader = try reader(bytes, structure)
        let size = PixelSize(width: reader.width, height: reader.height)
        let targets = try DecodePlan.targets(
            requests, source: size, orientation: structure.orientation, bytesPerPixel: reader.format.bytesPerPixel)
        let pictures =
            reader.passes == 1
            ? try readOnce(&reader, size, targets: targets, deadline)
            : try Resampler.resize(reader.readAll(deadline), to: targets)
        let profile = structure.colorSpace.profile(
            embedded: ICCProfile.fitting(reader.iccProfile, reader.format), isGray: reader.format.isGray)
        let (metadata, warnings) = (structure.metadata, structure.warningsOfDecoding)
        return try pictures.map { (picture) throws(ImagingError) in
            try Image(
                stored: picture, .png, structure.orientation, profile: profile, metadata: metadata, warnings: warnings)
        }
    }

    /// Decodes every row and keeps none; an interlaced picture must be held as a whole.
    static func check(
        _ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure, _ limits: DecodeLimits
    ) throws(ImagingError) {
        let deadline = Allowance.deadline(limits)
        let library = try MemoryReservation(structure.libraryBytes)
        defer { withExtendedLifetime(library) {} }
        var reader = try reader(bytes, structure)
        if reader.passes == 1 {
            _ = try readOnce(&reader, PixelSize(width: reader.width, height: reader.height), targets: [], deadline)
        } else {
            _ = try reader.readAll(deadline)
        }
    }

    private static func reader(
        _ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure
    ) throws(ImagingError) -> PNGReader {
        let reader = try PNGReader(bytes)
        guard reader.width == structure.width, reader.height == structure.height else {
            throw .corrupt(.png, reason: "two headers of different sizes")
        }
        return reader
    }

    private static func readOnce(
        _ reader: inout PNGReader, _ size: PixelSize, targets: [PixelSize?], _ deadline: Deadline
    ) throws(ImagingError) -> [Bitmap] {
        var rows = try RowTarget(size, reader.format, targets: targets)
        while !rows.isFull {
            try rows.take { (base, bytesPerRow, count) throws(ImagingError) in
                try reader.read(base, bytesPerRow: bytesPerRow, count: count)
            }
            try deadline.check()
        }
        return rows.pictures
    }
}

extension PNGStructure {
    /// Reads the structure of a file that is to be decoded.
    ///
    /// - Throws: `truncated` for an incomplete file, `corrupt`, and the errors of the limits.
    init(whole bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) {
        try self.init(bytes)
        try limits.check(width: width, height: height)
        // libpng is not called after the last row, so that excess image data costs nothing. The chunks show whether the
        // file is complete.
        guard isComplete || hasWholeData else { throw .truncated(.png) }
    }

    var warningsOfDecoding: [ImageWarning] {
        warnings + (isComplete ? [] : [.noEndMark(.png)]) + (colorSpace.isHDR ? [.notToneMapped(.png)] : [])
    }

    /// The bytes of the rows that libpng keeps, packed and expanded.
    var libraryBytes: Int { width * 4 * 8 + (1 << 17) }
}

/// Reads rows from a PNG with libpng.
struct PNGReader: ~Copyable {
    private let handle: OpaquePointer
    let width: Int
    let height: Int
    let format: PixelFormat
    /// 1, or 7 for an interlaced picture, whose rows are all read seven times.
    let passes: Int
    let iccProfile: [UInt8]?

    /// Reads the picture, or one frame of an animation, as RGBA of 8 bits.
    ///
    /// The bytes must stay in place for the lifetime of the reader.
    init(_ bytes: UnsafeRawBufferPointer, frame: kf_png_frame? = nil) throws(ImagingError) {
        let data = bytes.bindMemory(to: UInt8.self)
        let created =
            if var frame {
                kf_png_reader_create(data.baseAddress, data.count, &frame)
            } else {
                kf_png_reader_create(data.baseAddress, data.count, nil)
            }
        guard let handle = created else { throw .outOfMemory(bytes: 1 << 16) }
        var header = kf_png_header()
        let status = kf_png_reader_header(handle, &header)
        do throws(ImagingError) {
            try CodecStatus.check(status, .png, bytes: data.count, kf_png_reader_message(handle))
            guard let channels = PixelFormat.Channels(rawValue: Int(header.channels)),
                let depth = PixelFormat.Depth(rawValue: Int(header.depth))
            else { throw .unsupported(.png, feature: "\(header.channels) channels of \(header.depth) bits") }
            format = PixelFormat(channels, depth)
        } catch {
            kf_png_reader_destroy(handle)
            throw error
        }
        self.handle = handle
        width = Int(header.width)
        height = Int(header.height)
        passes = Int(header.passes)
        iccProfile = header.icc.map { Array(UnsafeBufferPointer(start: $0, count: Int(header.icc_length))) }
    }

    deinit {
        kf_png_reader_destroy(handle)
    }

    /// Reads the next rows of the current pass.
    mutating func read(_ rows: UnsafeMutableRawPointer, bytesPerRow: Int, count: Int) throws(ImagingError) {
        let target = rows.assumingMemoryBound(to: UInt8.self)
        let status = kf_png_reader_rows(handle, target, bytesPerRow, UInt32(count))
        try CodecStatus.check(status, .png, bytes: bytesPerRow * count, kf_png_reader_message(handle))
    }

    /// Reads the whole picture. Each of an interlaced picture's seven passes writes to all of it.
    mutating func readAll(_ deadline: Deadline) throws(ImagingError) -> Bitmap {
        var bitmap = try Bitmap(uninitialized: width, height, format)
        let step = Deadline.rowsPerLook(width: width)
        for _ in 0..<passes {
            var y = 0
            while y < height {
                let count = min(step, height - y)
                try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
                    try read(rows.row(y), bytesPerRow: rows.bytesPerRow, count: count)
                }
                try deadline.check()
                y += count
            }
        }
        return bitmap
    }
}
