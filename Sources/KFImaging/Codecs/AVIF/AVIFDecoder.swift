import CImageCodecs

/// Decodes AVIF with libavif and dav1d, still or animated.
///
/// libavif decodes a whole frame in one call, which cannot be interrupted: the deadline is checked between frames, and
/// between bands of rows as they are converted to RGB. A limit of pixels bounds the time of a frame.
struct AVIFDecoder {
    private let bytes: UnsafeRawBufferPointer
    private let structure: AVIFStructure

    /// - Throws: `truncated`, `corrupt`, `unsupported`, and the errors of the limits.
    init(_ bytes: UnsafeRawBufferPointer, _ options: DecodeOptions) throws(ImagingError) {
        (self.bytes, structure) = (bytes, try AVIFStructure(bytes))
        let properties = structure.properties
        // clap may hide most of a picture, all of which is decoded.
        try options.limits.check(properties.size, frames: options.firstFrameOnly ? 1 : structure.frames)
        // All cells of a grid are decoded, which may be larger than its boxes say.
        if structure.isGrid, structure.coded.pixels / 4 > options.limits.maxPixels {
            throw .corrupt(.avif, reason: "the cells of its grid have more pixels than the limit allows")
        }
        _ = try structure.check()
        if let undecodable = structure.undecodable { throw .unsupported(.avif, feature: undecodable) }
    }

    /// Decodes the image once for each request; a still one in one pass over the bytes.
    func decode(_ requests: [DecodeOptions], each change: FrameChange?) throws(ImagingError) -> [Image] {
        if structure.frames == 1 || requests[0].firstFrameOnly {
            return try stills(requests).finished(requests, each: change)
        }
        return try requests.map { (options) throws(ImagingError) in try animation(options, change) }
    }

    private func stills(_ requests: [DecodeOptions]) throws(ImagingError) -> [Image] {
        var reader = try AVIFReader(bytes, structure)
        let picture = try reader.next()
        let orientation = structure.properties.orientation
        let targets = try DecodePlan.targets(
            requests, source: reader.size, orientation: orientation, bytesPerPixel: picture.format.bytesPerPixel)
        let description = reader.description(picture.format)
        return try reader.read(picture, targets).map { (bitmap) throws(ImagingError) in
            var image = Image(try bitmap.oriented(orientation), sourceFormat: .avif, iccProfile: description.profile)
            image.describe(description, .avif)
            return image
        }
    }

    private func animation(_ options: DecodeOptions, _ change: FrameChange?) throws(ImagingError) -> Image {
        var reader = try AVIFReader(bytes, structure)
        var picture = try reader.next()
        let (format, description) = (picture.format, reader.description(picture.format))
        var frames = try FrameCollector(
            options, canvas: reader.size, count: structure.frames, orientation: structure.properties.orientation,
            profile: description.profile, of: format, change: change)
        for index in 0..<structure.frames {
            if index > 0 { picture = try reader.next() }
            guard picture.format == format else { throw .corrupt(.avif, reason: "frames of different formats") }
            try frames.add(reader.read(picture, [nil])[0], delay: picture.delay)
        }
        var image = try frames.image(.avif, loopCount: structure.loopCount)
        image.describe(description, .avif)
        return image
    }

    /// Decodes every frame, and converts one row: a conversion finds no damage, but may not be possible.
    func check() throws(ImagingError) {
        var reader = try AVIFReader(bytes, structure)
        for index in 0..<structure.frames {
            try ImageCodecs.checkTime()
            let picture = try reader.next()
            guard index == 0 else { continue }
            var row = try Bitmap(uninitialized: reader.size.width, 1, picture.format)
            try row.withUnsafeMutableRows { (rows) throws(ImagingError) in
                try reader.read(rows.base, bytesPerRow: rows.bytesPerRow, from: 0, count: 1)
            }
        }
    }
}
