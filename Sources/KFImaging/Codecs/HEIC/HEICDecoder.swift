import CImageCodecs
import Glibc

/// Decodes the primary picture of a HEIC with libheif and libde265.
///
/// libheif decodes it in one call, which cannot be interrupted: the deadline is checked before, and between bands of rows
/// as they are converted to RGB.
struct HEICDecoder {
    private let bytes: UnsafeRawBufferPointer
    private let structure: HEICStructure

    /// - Throws: `truncated`, `corrupt`, `unsupported`, and the errors of the limits.
    init(_ bytes: UnsafeRawBufferPointer, _ limits: DecodeLimits) throws(ImagingError) {
        (self.bytes, structure) = (bytes, try HEICStructure(bytes))
        // clap may hide most of a picture, all of which is decoded.
        try limits.check(structure.properties.size)
        _ = try structure.check()
        if let undecodable = structure.undecodable { throw .unsupported(.heic, feature: undecodable) }
    }

    /// Decodes the bytes once, and makes a picture of them for each request.
    func decode(_ requests: [DecodeOptions]) throws(ImagingError) -> [Image] {
        let reader = try HEICReader(bytes, structure)
        let orientation = structure.properties.orientation
        let description = reader.description
        let pictures = structure.pictures
        return try requests.map { (request) throws(ImagingError) in
            let plan = try DecodePlan(
                request, source: reader.size, orientation: orientation, bytesPerPixel: reader.format.bytesPerPixel)
            let bitmap = try reader.read(plan.exact)
            var image = Image(try bitmap.oriented(orientation), sourceFormat: .heic, iccProfile: description.profile)
            image.describe(description, .heic)
            if pictures > 1 { image.warnings.append(.picturesLost(count: pictures, .heic)) }
            return image
        }
    }

    /// Decodes the picture, and converts one row: a conversion finds no damage, but may not be possible.
    func check() throws(ImagingError) {
        let reader = try HEICReader(bytes, structure)
        var row = try Bitmap(uninitialized: reader.size.width, 1, reader.format)
        try row.withUnsafeMutableRows { (rows) throws(ImagingError) in
            try reader.read(rows.base, bytesPerRow: rows.bytesPerRow, from: 0, count: 1)
        }
    }
}

/// Holds the primary picture of a HEIC as libheif has decoded it, and converts its rows.
struct HEICReader: ~Copyable {
    let format: PixelFormat
    private let handle: CodecHandle
    private let facts: kf_picture
    private let visible: (x: Range<Int>, y: Range<Int>)
    /// Counts the memory of libheif and libde265.
    private let library: MemoryReservation

    /// The bytes must stay in place for the lifetime of the reader.
    init(_ bytes: UnsafeRawBufferPointer, _ structure: HEICStructure) throws(ImagingError) {
        let memory = structure.libraryBytes
        let decoding = try MemoryReservation(memory.decoding - memory.decoded)
        let library = try MemoryReservation(memory.decoded)
        try LoadedLibrary.heic.require()
        try ImageCodecs.checkTime()
        let coded = structure.properties.size
        let handle = try CodecHandle(kf_heif_reader_create(), .heic, bytes: coded.width * coded.height)
        // The cells of a grid are decoded side by side; libde265 decodes each by one thread of its own.
        let threads = structure.isGrid ? min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 8) : 1
        var facts = kf_picture()
        let data = bytes.bindMemory(to: UInt8.self)
        let status = CoderThreads.ended.counting(threads + 1) {
            kf_heif_reader_open(
                handle.pointer, data.baseAddress, data.count, UInt32(clamping: max(coded.width, coded.height)),
                UInt32(clamping: threads), &facts)
        }
        // Given back before pixels are made.
        withExtendedLifetime(decoding) {}
        try handle.check(status)
        try ImageCodecs.checkTime()
        guard facts.width == coded.width, facts.height == coded.height else {
            throw .corrupt(.heic, reason: "a picture whose size differs from its header")
        }
        let format = try facts.format(of: .heic)
        guard format.hasAlpha == structure.hasAlpha else {
            throw .unsupported(.heic, feature: "alpha that libheif reads in another way")
        }
        (self.format, self.library, self.facts) = (format, library, facts)
        visible = structure.properties.visible
        self.handle = handle
    }

    /// The size of the visible part.
    var size: PixelSize { PixelSize(width: visible.x.count, height: visible.y.count) }

    var description: PictureDescription { PictureDescription(format, facts) }

    /// Reads visible rows.
    func read(_ rows: UnsafeMutableRawPointer, bytesPerRow: Int, from y: Int, count: Int) throws(ImagingError) {
        try handle.check(
            kf_heif_reader_rows(
                handle.pointer, rows.assumingMemoryBound(to: UInt8.self), bytesPerRow,
                UInt32(clamping: visible.x.lowerBound), UInt32(clamping: visible.x.count),
                UInt32(clamping: visible.y.lowerBound + y), UInt32(clamping: count)))
    }

    /// Returns the visible part at this size; nil is its own.
    ///
    /// Down to four times the size, boxes of pixels are averaged, plane by plane. As for a JPEG, that is enough for the
    /// finest detail.
    func read(_ target: PixelSize?) throws(ImagingError) -> Bitmap {
        var box = 1
        if let target, !format.hasAlpha {
            box = max(1, min(size.width / target.width, size.height / target.height) / 4)
        }
        var boxes = kf_heif_boxes()
        boxes.left = UInt32(clamping: visible.x.lowerBound)
        boxes.top = UInt32(clamping: visible.y.lowerBound)
        (boxes.width, boxes.height) = (UInt32(clamping: size.width), UInt32(clamping: size.height))
        boxes.box = UInt32(clamping: box)
        let averaged = PixelSize(width: (size.width - 1) / box + 1, height: (size.height - 1) / box + 1)
        var rows = try RowTarget(
            averaged, extent: (Double(size.width) / Double(box), Double(size.height) / Double(box)), format,
            targets: [target], sharpening: (1 - 1 / Double(box * box)) / 24)
        var y = 0
        return try rows.fill { (base, bytesPerRow, count) throws(ImagingError) in
            if box == 1 {
                try read(base, bytesPerRow: bytesPerRow, from: y, count: count)
            } else {
                try handle.check(
                    kf_heif_reader_averages(
                        handle.pointer, &boxes, base.assumingMemoryBound(to: UInt8.self), bytesPerRow,
                        UInt32(clamping: y), UInt32(clamping: count)))
            }
            y += count
        }[0]
    }
}
