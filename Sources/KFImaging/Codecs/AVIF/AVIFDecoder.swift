import CImageCodecs

/// Decodes AVIF with libavif and dav1d, still or animated.
///
/// libavif decodes a whole frame in one call, which cannot be interrupted: the deadline is checked between frames, and
/// between bands of rows as they are converted to RGB. A limit of pixels bounds the time of a frame.
enum AVIFDecoder {
    /// Decodes the image once for each request; a still one in one pass over the bytes.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, _ requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        let structure = try decodableStructure(bytes, requests[0])
        if structure.frames == 1 || requests[0].firstFrameOnly {
            return try stills(bytes, requests, structure).finished(requests, each: change)
        }
        return try requests.map { (options) throws(ImagingError) in
            try animation(bytes, structure, options, change)
        }
    }

    private static func stills(
        _ bytes: UnsafeRawBufferPointer, _ requests: [DecodeOptions], _ structure: AVIFStructure
    ) throws(ImagingError) -> [Image] {
        let deadline = Allowance.deadline(requests[0].limits)
        let library = try reservation(structure)
        defer { withExtendedLifetime(library) {} }
        var reader = try AVIFReader(bytes, structure)
        let picture = try reader.next()
        let orientation = structure.properties.orientation
        let targets = try DecodePlan.targets(
            requests, source: structure.size, orientation: orientation, bytesPerPixel: picture.format.bytesPerPixel)
        let description = reader.description(picture.format)
        return try read(&reader, picture, targets, deadline).map { (bitmap) throws(ImagingError) in
            var image = Image(try bitmap.oriented(orientation), sourceFormat: .avif, iccProfile: description.profile)
            image.describe(description)
            return image
        }
    }

    private static func animation(
        _ bytes: UnsafeRawBufferPointer, _ structure: AVIFStructure, _ options: DecodeOptions, _ change: FrameChange?
    ) throws(ImagingError) -> Image {
        let deadline = Allowance.deadline(options.limits)
        let library = try reservation(structure)
        defer { withExtendedLifetime(library) {} }
        var reader = try AVIFReader(bytes, structure)
        var picture = try reader.next()
        let (format, description) = (picture.format, reader.description(picture.format))
        var frames = try FrameCollector(
            options, canvas: structure.size, count: structure.frames, orientation: structure.properties.orientation,
            profile: description.profile, of: format, change: change)
        for index in 0..<structure.frames {
            if index > 0 { picture = try reader.next() }
            guard picture.format == format else { throw .corrupt(.avif, reason: "frames of different formats") }
            try frames.add(read(&reader, picture, [nil], deadline)[0], delay: picture.delay)
        }
        var image = try frames.image(.avif, loopCount: structure.loopCount)
        image.describe(description)
        return image
    }

    /// Decodes every frame, and converts one row: a conversion finds no damage, but may not be possible.
    static func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) {
        let deadline = Allowance.deadline(limits)
        let structure = try decodableStructure(bytes, DecodeOptions(limits: limits))
        let library = try reservation(structure)
        defer { withExtendedLifetime(library) {} }
        var reader = try AVIFReader(bytes, structure)
        for index in 0..<structure.frames {
            try deadline.check()
            let picture = try reader.next()
            guard index == 0 else { continue }
            var row = try Bitmap(uninitialized: reader.size.width, 1, picture.format)
            try row.withUnsafeMutableRows { (rows) throws(ImagingError) in
                try reader.read(rows.base, bytesPerRow: rows.bytesPerRow, from: 0, count: 1)
            }
        }
    }

    /// Reads the visible rows of the current picture once for each target.
    private static func read(
        _ reader: inout AVIFReader, _ picture: AVIFReader.Picture, _ targets: [PixelSize?], _ deadline: Deadline
    ) throws(ImagingError) -> [Bitmap] {
        let size = reader.size
        var rows = try RowTarget(size, picture.format, targets: targets)
        var y = 0
        while !rows.isFull {
            try deadline.check()
            try rows.take { (base, bytesPerRow, count) throws(ImagingError) in
                try reader.read(base, bytesPerRow: bytesPerRow, from: y, count: count)
                y += count
            }
        }
        return rows.pictures
    }

    private static func decodableStructure(
        _ bytes: UnsafeRawBufferPointer, _ options: DecodeOptions
    ) throws(ImagingError) -> AVIFStructure {
        let structure = try AVIFStructure(bytes)
        // clap may hide most of a picture, all of which is decoded.
        try options.limits.check(
            width: structure.properties.width, height: structure.properties.height,
            frames: options.firstFrameOnly ? 1 : structure.frames)
        // All cells of a grid are decoded, which may be larger than its boxes say.
        if structure.isGrid, structure.coded.pixels / 4 > options.limits.maxPixels {
            throw .corrupt(.avif, reason: "the cells of its grid have more pixels than the limit allows")
        }
        if !structure.isComplete { throw .truncated(.avif) }
        if let undecodable = structure.undecodable { throw .unsupported(.avif, feature: undecodable) }
        return structure
    }

    /// Counts what libavif and dav1d hold: the planes of one picture, of a grid's cells and of an animation's references.
    private static func reservation(_ structure: AVIFStructure) throws(ImagingError) -> MemoryReservation {
        let properties = structure.properties
        // dav1d pads both sides to 128. Longer sides than 28 bits would overflow, and no machine has the memory.
        let pixels = (min(properties.width, 1 << 28) + 127) * (min(properties.height, 1 << 28) + 127)
        let bytesPerSample = properties.bitDepth > 8 ? 2 : 1
        // For each picture, dav1d keeps half a byte a pixel about blocks and filters.
        let color = (properties.samplesOfFour * bytesPerSample + 2) * pixels / 4
        let alpha = structure.hasAlpha ? (4 * bytesPerSample + 2) * pixels / 4 : 0
        let pictures = structure.isSequence && structure.frames > 1 ? 10 : 1
        // The headers of the AV1 data say what dav1d takes, whatever the boxes say. libavif holds all cells of a grid
        // beside the picture that it makes of them.
        let boxes = (color + alpha) * pictures
        let bytes = structure.isGrid ? boxes + structure.coded.bytes : max(boxes, structure.coded.bytes)
        return try MemoryReservation(bytes + structure.boxMemory + (4 << 20))
    }
}

extension Image {
    /// Takes the metadata, and the code points of an HDR picture, which other formats lose.
    fileprivate mutating func describe(_ description: AVIFReader.Description) {
        metadata = description.metadata
        codePoints = description.hdr
        if codePoints != nil { warnings.append(.notToneMapped(.avif)) }
    }
}
