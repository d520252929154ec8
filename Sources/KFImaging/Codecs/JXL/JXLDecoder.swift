import CImageCodecs

/// Decodes JPEG XL with libjxl, still or animated, on the calling thread.
struct JXLDecoder {
    private let bytes: UnsafeRawBufferPointer
    private let structure: JXLStructure

    /// An estimate of what libjxl holds of a pixel beside the result: three channels and alpha, as 4 bytes each.
    static let bytesPerPixel = 16.0

    /// - Throws: `truncated`, `corrupt`, and the errors of the limits.
    init(_ bytes: UnsafeRawBufferPointer, _ limits: DecodeLimits) throws(ImagingError) {
        (self.bytes, structure) = (bytes, try JXLStructure(bytes))
        try limits.check(structure.size)
        _ = try structure.check()
    }

    /// Decodes the image once for each request; a still one in one pass over the bytes.
    func decode(_ requests: [DecodeOptions], each change: FrameChange?) throws(ImagingError) -> [Image] {
        if !structure.isAnimation || requests[0].firstFrameOnly {
            return try stills(requests).finished(requests, each: change)
        }
        return try requests.map { (options) throws(ImagingError) in try animation(options, change) }
    }

    private func stills(_ requests: [DecodeOptions]) throws(ImagingError) -> [Image] {
        // The requests of a pass are alike.
        let isCoarse = try structure.isCoarse(requests[0])
        var reader = try JXLReader(bytes, structure, isCoarse: isCoarse)
        let description = reader.description(structure)
        guard let (bitmap, _) = try reader.next() else { throw .corrupt(.jxl, reason: "no frame") }
        let targets = try DecodePlan.targets(
            requests, source: structure.size, orientation: structure.orientation,
            bytesPerPixel: bitmap.format.bytesPerPixel)
        return try Resampler.resize(bitmap, to: targets).map { (bitmap) throws(ImagingError) in
            var image = Image(
                try bitmap.oriented(structure.orientation), sourceFormat: .jxl, iccProfile: description.profile)
            image.describe(description, .jxl)
            return image
        }
    }

    private func animation(_ options: DecodeOptions, _ change: FrameChange?) throws(ImagingError) -> Image {
        var reader = try JXLReader(bytes, structure)
        let description = reader.description(structure)
        let count = try reader.count(most: options.limits.maxFrames)
        try options.limits.check(structure.size, frames: count)
        var frames = try FrameCollector(
            options, canvas: structure.size, count: count, orientation: structure.orientation,
            profile: description.profile, of: reader.format, change: change)
        for _ in 0..<count {
            guard let (bitmap, delay) = try reader.next() else { break }
            try frames.add(bitmap, delay: delay)
        }
        var image = try frames.image(.jxl, loopCount: reader.loops)
        image.describe(description, .jxl)
        return image
    }

    /// Decodes every frame.
    func check() throws(ImagingError) {
        var reader = try JXLReader(bytes, structure)
        guard try reader.next() != nil else { throw .corrupt(.jxl, reason: "no frame") }
        while structure.isAnimation, try reader.next() != nil {}
    }
}

/// Decodes the frames of a JPEG XL one after the other.
struct JXLReader: ~Copyable {
    let format: PixelFormat
    private let handle: CodecHandle
    private let facts: kf_jxl_picture
    private let size: PixelSize
    /// Counts the memory of libjxl.
    private let library: MemoryReservation

    /// The bytes must stay in place for the lifetime of the reader.
    init(
        _ bytes: UnsafeRawBufferPointer, _ structure: JXLStructure, isCoarse: Bool = false
    ) throws(ImagingError) {
        let size = structure.size
        let library = try MemoryReservation(
            Int(clamping: min(Double(size.width) * Double(size.height) * JXLDecoder.bytesPerPixel, 1e18)) + (16 << 20))
        try LoadedLibrary.jxl.require()
        let data = bytes.bindMemory(to: UInt8.self)
        let handle = try CodecHandle(
            kf_jxl_reader_create(data.baseAddress, data.count, Allowance.current?.deadline.meter), .jxl,
            bytes: size.width * size.height * 4)
        var facts = kf_jxl_picture()
        try handle.check(kf_jxl_reader_open(handle.pointer, isCoarse ? 1 : 0, &facts))
        guard facts.width == size.width, facts.height == size.height,
            facts.orientation == structure.orientation.value, facts.is_animation == (structure.isAnimation ? 1 : 0),
            let channels = PixelFormat.Channels(rawValue: Int(facts.channels))
        else { throw .corrupt(.jxl, reason: "a header that libjxl reads in another way") }
        format = PixelFormat(channels, facts.depth > 8 ? .sixteen : .eight)
        (self.library, self.facts, self.size) = (library, facts, size)
        self.handle = handle
    }

    /// The number of times that an animation plays; 0 is forever.
    var loops: Int { Int(clamping: facts.loops) }

    func description(_ structure: JXLStructure) -> PictureDescription {
        // Inks become sRGB by their profile.
        PictureDescription(
            format, CodePoints(primaries: Int(facts.primaries), transfer: Int(facts.transfer)),
            icc: facts.has_ink == 0 ? PictureDescription.block(facts.icc, facts.icc_length) : nil,
            metadata: structure.hasCompressedBlocks ? decompressedMetadata : structure.blocks.metadata)
    }

    private var decompressedMetadata: ImageMetadata? {
        func box(_ kind: String) -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: ImageMetadata.maximumLength) { bytes, count in
                count = kf_jxl_reader_box(handle.pointer, kind, bytes.baseAddress, bytes.count)
            }
        }
        let (exif, xmp) = (box("Exif"), box("xml "))
        return exif.withUnsafeBytes { exif in
            xmp.withUnsafeBytes { xmp in ImageMetadata(exif: JXLStructure.exif(exif), xmp: xmp) }
        }
    }

    /// Counts the frames, up to one more than `most`.
    func count(most: Int) throws(ImagingError) -> Int {
        var count: UInt32 = 0
        try handle.check(kf_jxl_reader_count(handle.pointer, UInt32(clamping: min(max(most, 0), 1 << 30) + 1), &count))
        return Int(count)
    }

    /// Decodes the next frame; nil behind the last one.
    mutating func next() throws(ImagingError) -> (bitmap: Bitmap, delay: Duration)? {
        try ImageCodecs.checkTime()
        var bitmap = try Bitmap(uninitialized: size.width, size.height, format)
        var black = try facts.has_ink == 0 ? nil : Bitmap(uninitialized: size.width, size.height, .gray)
        var seconds = 0.0
        let handle = handle.pointer
        var status = KF_OK
        try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
            var target = kf_jxl_target()
            target.rows = rows.row(0)
            target.stride = rows.bytesPerRow
            target.length = rows.bytesPerRow * rows.height
            if black == nil {
                status = kf_jxl_reader_next(handle, &target, &seconds)
            } else {
                try black?.withUnsafeMutableRows { (rows) throws(ImagingError) in
                    target.black = rows.row(0)
                    target.black_length = rows.bytesPerRow * rows.height
                    status = kf_jxl_reader_next(handle, &target, &seconds)
                }
            }
        }
        if status == KF_MORE { return nil }
        try self.handle.check(status)
        if let black { bitmap = try mixed(bitmap, black) }
        // A day is more than any encoder means, and far from the range of a duration.
        return (bitmap, seconds > 0 ? .microseconds(Int64(clamping: min(seconds, 86_400) * 1_000_000 + 0.5)) : .zero)
    }

    /// Converts three inks and black to RGB.
    private func mixed(_ colors: Bitmap, _ black: Bitmap) throws(ImagingError) -> Bitmap {
        let inks = InkConverter(profile: PictureDescription.block(facts.icc, facts.icc_length).map(Array.init))
        let row = try Scratch.take(UInt8.self, size.width * 4)
        defer { Scratch.give(row) }
        var result = colors
        try result.withUnsafeMutableRows { (rows) throws(ImagingError) in
            try black.withUnsafeRows { (blacks) throws(ImagingError) in
                for y in 0..<rows.height {
                    try ImageCodecs.checkTime()
                    let (pixels, key) = (rows.row(y), blacks.row(y))
                    for x in 0..<rows.width {
                        for ink in 0..<3 { row[x * 4 + ink] = pixels[x * 3 + ink] }
                        row[x * 4 + 3] = key[x]
                    }
                    inks.convert(row, to: pixels, rows.width)
                }
            }
        }
        return result
    }
}
