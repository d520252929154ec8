import CImageCodecs

/// Decodes PNG of every colour type and depth, interlaced or not; of an animated PNG its default image.
enum PNGDecoder {
    /// Decodes the picture once for each request, in one pass over the bytes.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure, _ requests: [DecodeOptions]
    ) throws(ImagingError) -> [Image] {
        var reader = try reader(bytes, structure)
        let targets = try DecodePlan.targets(
            requests, source: reader.size, orientation: structure.orientation,
            bytesPerPixel: reader.format.bytesPerPixel)
        let pictures = try reader.pictures(targets)
        let profile = structure.statedProfile(of: bytes, reader.format)
        let (metadata, warnings) = (structure.metadata, structure.warningsOfDecoding)
        return try pictures.map { (picture) throws(ImagingError) in
            try Image(
                stored: picture, .png, structure.orientation, profile: profile, metadata: metadata, warnings: warnings)
        }
    }

    /// Decodes every row and keeps none; an interlaced picture must be held as a whole.
    static func check(_ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure) throws(ImagingError) {
        var reader = try reader(bytes, structure)
        _ = try reader.pictures([])
    }

    private static func reader(
        _ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure
    ) throws(ImagingError) -> PNGReader {
        if structure.hasEarlyTransparency { return try ordered(bytes, structure) }
        let reader = try PNGReader(bytes)
        guard reader.size == structure.size else {
            throw .corrupt(.png, reason: "two headers of different sizes")
        }
        return reader
    }

    /// A reader that gets the palette first, as libpng wants it.
    private static func ordered(
        _ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure
    ) throws(ImagingError) -> PNGReader {
        var frame = kf_png_frame()
        (frame.width, frame.height) = (
            UInt32(clamping: structure.size.width), UInt32(clamping: structure.size.height)
        )
        (frame.start, frame.end) = (structure.palette, bytes.count)
        (frame.palette, frame.transparency) = (structure.palette, structure.transparency)
        return try PNGReader(bytes, frame: &frame)
    }
}

extension PNGStructure {
    /// Returns the profile of the pixels, decoded in this format; nil is sRGB.
    func statedProfile(of bytes: UnsafeRawBufferPointer, _ format: PixelFormat) -> [UInt8]? {
        colorSpace.profile(
            embedded: ICCProfile.describing(embeddedProfile(in: bytes), format), isGray: format.isGray)
    }

    /// Reads the structure of a file that is to be decoded.
    ///
    /// - Throws: `truncated` for an incomplete file, `corrupt`, and the errors of the limits.
    init(whole bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) {
        try self.init(bytes)
        try limits.check(size)
        // libpng is not called after the last row, so that excess image data costs nothing. The chunks show whether the
        // file is complete.
        if !isComplete, !hasWholeData { try Tolerance.forgive(.truncated(.png)) }
    }

    var warningsOfDecoding: [ImageWarning] {
        warnings + (isComplete ? [] : [.noEndMark(.png)]) + (colorSpace.isHDR ? [.notToneMapped(.png)] : [])
    }
}

/// Reads rows from a PNG with libpng.
struct PNGReader: ~Copyable {
    private let handle: CodecHandle
    /// Counts the rows that libpng keeps, packed and expanded.
    private let library: MemoryReservation
    let size: PixelSize
    let format: PixelFormat
    /// 1, or 7 for an interlaced picture, whose rows are all read seven times.
    private let passes: UInt32
    private var rest = RestOfPicture()

    /// Reads the picture, or one frame of an animation, as RGBA of 8 bits.
    ///
    /// The bytes must stay in place for the lifetime of the reader.
    init(_ bytes: UnsafeRawBufferPointer, frame: UnsafePointer<kf_png_frame>? = nil) throws(ImagingError) {
        let data = bytes.bindMemory(to: UInt8.self)
        let handle = try CodecHandle(
            kf_png_reader_create(data.baseAddress, data.count, frame, Tolerance.isInForce ? 1 : 0), .png,
            bytes: data.count)
        var header = kf_png_header()
        try handle.check(kf_png_reader_header(handle.pointer, &header))
        guard let channels = PixelFormat.Channels(rawValue: Int(header.channels)),
            let depth = PixelFormat.Depth(rawValue: Int(header.depth))
        else { throw .unsupported(.png, feature: "\(header.channels) channels of \(header.depth) bits") }
        library = try MemoryReservation(Int(header.width) * 4 * 8 + (1 << 17))
        format = PixelFormat(channels, depth)
        size = PixelSize(width: Int(header.width), height: Int(header.height))
        passes = header.passes
        self.handle = handle
    }

    /// Reads the next rows of the current pass.
    private mutating func read(_ rows: UnsafeMutableRawPointer, bytesPerRow: Int, count: Int) throws(ImagingError) {
        try rest.read(rows, bytesPerRow: bytesPerRow, count: count, empty: passes == 1 ? 0 : nil) {
            (rows, count) throws(ImagingError) in
            let target = rows.assumingMemoryBound(to: UInt8.self)
            let status = kf_png_reader_rows(handle.pointer, target, bytesPerRow, UInt32(clamping: count))
            try handle.check(status, bytes: bytesPerRow * count)
        }
    }

    /// Reads the picture at each size; nil stands for its own.
    mutating func pictures(_ targets: [PixelSize?]) throws(ImagingError) -> [Bitmap] {
        guard passes == 1 else { return try Resampler.resize(readAll(), to: targets) }
        var rows = try RowTarget(size, format, targets: targets)
        let pictures = try rows.fill { (base, bytesPerRow, count) throws(ImagingError) in
            try read(base, bytesPerRow: bytesPerRow, count: count)
        }
        try noteDamage()
        return pictures
    }

    private func noteDamage() throws(ImagingError) {
        do throws(ImagingError) {
            try handle.check(kf_png_reader_damage(handle.pointer))
        } catch {
            try Tolerance.forgive(error)
        }
    }

    /// Reads the whole picture. Each of an interlaced picture's seven passes writes to all of it.
    mutating func readAll() throws(ImagingError) -> Bitmap {
        // A pass of a damaged picture leaves the rows of the next passes as they are.
        var bitmap =
            try Tolerance.isInForce
            ? Bitmap(width: size.width, height: size.height, format: format)
            : Bitmap(uninitialized: size.width, size.height, format)
        let step = Deadline.rowsPerLook(width: size.width)
        for _ in 0..<passes {
            for y in stride(from: 0, to: size.height, by: step) {
                try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
                    try read(rows.row(y), bytesPerRow: rows.bytesPerRow, count: min(step, size.height - y))
                }
                try ImageCodecs.checkTime()
            }
        }
        try noteDamage()
        return bitmap
    }
}
