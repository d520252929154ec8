import CImageCodecs

/// Decodes the first page of a TIFF with libtiff.
struct TIFFDecoder {
    private let bytes: UnsafeRawBufferPointer
    private let structure: TIFFStructure

    /// - Throws: `truncated`, `corrupt`, `unsupported`, and the errors of the limits.
    init(_ bytes: UnsafeRawBufferPointer, _ limits: DecodeLimits) throws(ImagingError) {
        (self.bytes, structure) = (bytes, try TIFFStructure(bytes))
        try limits.check(structure.size)
        if let undecodable = structure.layout.undecodable { throw .unsupported(.tiff, feature: undecodable) }
        _ = try structure.check()
    }

    /// Decodes the page once for each request, in one pass over the bytes.
    func decode(_ requests: [DecodeOptions]) throws(ImagingError) -> [Image] {
        let targets = try DecodePlan.targets(
            requests, source: structure.size, orientation: structure.orientation,
            bytesPerPixel: structure.layout.format.bytesPerPixel)
        var reader = try TIFFReader(bytes, structure)
        let (profile, metadata) = (reader.profile, ImageMetadata(uprightOf: structure.exif, reader.xmp))
        let pages = structure.pages
        return try reader.read(targets).map { (picture) throws(ImagingError) in
            try Image(
                stored: picture, .tiff, structure.orientation, profile: profile, metadata: metadata,
                warnings: pages > 1 ? [.picturesLost(count: pages, .tiff)] : [])
        }
    }

    /// Decodes the page, and keeps no row.
    func check() throws(ImagingError) -> [ImageWarning] {
        var reader = try TIFFReader(bytes, structure)
        _ = try reader.read([])
        return []
    }
}

/// Reads the rows of a page with libtiff.
struct TIFFReader: ~Copyable {
    private let handle: CodecHandle
    private let rows: TIFFRows
    private let picture: kf_tiff_picture
    private let size: PixelSize
    /// Counts the memory of the reader and of libtiff.
    private let library: MemoryReservation

    /// The bytes must stay in place for the lifetime of the reader.
    init(_ bytes: UnsafeRawBufferPointer, _ structure: TIFFStructure) throws(ImagingError) {
        try LoadedLibrary.tiff.require()
        let data = bytes.bindMemory(to: UInt8.self)
        let handle = try CodecHandle(kf_tiff_reader_create(data.baseAddress, data.count), .tiff)
        var picture = kf_tiff_picture()
        let layout = structure.layout
        let converts = layout.colors == .converted
        try handle.check(
            kf_tiff_reader_open(handle.pointer, Allowance.current?.memory.left ?? .max, converts ? 1 : 0, &picture))
        guard picture.width == structure.size.width, picture.height == structure.size.height,
            converts || picture.bits == layout.bits && picture.samples == layout.samples
        else { throw .corrupt(.tiff, reason: "tags that libtiff reads in another way") }
        let held = picture.library_bytes.addingReportingOverflow(
            picture.plane_bytes.multipliedReportingOverflow(by: Int(picture.planes)).partialValue)
        let library = try MemoryReservation(held.overflow ? .max : held.partialValue)
        let profile = PictureDescription.block(picture.icc, picture.icc_length).map(Array.init)
        rows = try TIFFRows(layout, picture, profile: profile)
        (self.library, self.picture, size) = (library, picture, structure.size)
        self.handle = handle
    }

    var profile: [UInt8]? { PictureDescription.block(picture.icc, picture.icc_length).map(Array.init) }
    var xmp: [UInt8]? { PictureDescription.block(picture.xmp, picture.xmp_length).map(Array.init) }

    /// Reads all rows once for each target.
    mutating func read(_ targets: [PixelSize?]) throws(ImagingError) -> [Bitmap] {
        let (bandRows, planeBytes) = (Int(picture.band_rows), picture.plane_bytes)
        let band = try Scratch.take(UInt8.self, planeBytes * Int(picture.planes))
        defer { Scratch.give(band) }
        var target = try RowTarget(size, rows.format, targets: targets)
        var y = 0
        return try target.fill { (base, bytesPerRow, count) throws(ImagingError) in
            for index in 0..<count {
                if y % bandRows == 0 {
                    try ImageCodecs.checkTime()
                    try handle.check(kf_tiff_reader_band(handle.pointer, UInt32(clamping: y), band))
                }
                rows.convert(
                    band + y % bandRows * picture.row_bytes, planeBytes: planeBytes,
                    to: base + index * bytesPerRow)
                y += 1
            }
        }
    }
}
