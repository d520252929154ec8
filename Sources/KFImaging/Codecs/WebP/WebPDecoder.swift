import CImageCodecs

/// Decodes WebP, lossy or lossless, with alpha, still or animated.
enum WebPDecoder {
    static func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange? = nil
    ) throws(ImagingError) -> Image {
        let structure = try WebPStructure(bytes)
        let wanted = options.firstFrameOnly ? min(structure.frames.count, 1) : structure.frames.count
        try options.limits.check(structure.size, frames: max(wanted, 1))
        _ = try structure.check()
        if structure.isAnimated { return try animation(structure, wanted, of: bytes, options, change) }
        let first = structure.frames[0]
        guard first.size == structure.size else {
            throw .corrupt(.webp, reason: "a picture whose size differs from its header")
        }
        let format: PixelFormat = first.hasAlpha ? .rgba : .rgb
        let plan = try DecodePlan(
            options, source: first.size, orientation: structure.blocks.orientation,
            bytesPerPixel: format.bytesPerPixel)
        var bitmap = try picture(first, size: scaled(plan), of: bytes, format: format)
        if let exact = plan.exact { bitmap = try Resampler.resize(bitmap, to: exact) }
        return try Image(
            stored: bitmap, .webp, structure.blocks.orientation, profile: structure.profile,
            metadata: structure.blocks.metadata
        ).finished(options, each: change)
    }

    /// Returns the smallest size with the picture's aspect ratio that reaches the plan's minimum.
    ///
    /// libwebp averages rows as it decodes them, which blurs more than a JPEG's reduced decode. A picture that is
    /// resampled afterwards is thus decoded at twice the minimum: 46 dB to a full decode, against 41 at the minimum
    /// itself.
    private static func scaled(_ plan: DecodePlan) -> PixelSize {
        let source = plan.source
        guard let minimum = plan.minimum else { return source }
        let reserve = plan.exact == nil ? 1.0 : 2.0
        let factor =
            reserve * max(Double(minimum.width) / Double(source.width), Double(minimum.height) / Double(source.height))
        guard factor < 1 else { return source }
        return PixelSize(
            width: min(source.width, Int(clamping: (Double(source.width) * factor).rounded(.up))),
            height: min(source.height, Int(clamping: (Double(source.height) * factor).rounded(.up))))
    }

    private static func picture(
        _ frame: WebPStructure.Frame, size: PixelSize, of bytes: UnsafeRawBufferPointer, format: PixelFormat
    ) throws(ImagingError) -> Bitmap {
        // libwebp holds a whole lossless picture, and the whole alpha plane of a lossy one.
        let bytesPerPixel = frame.isLossless ? 4 : frame.hasAlpha ? 5 : 0
        let library = try MemoryReservation(frame.size.width * (256 + frame.size.height * bytesPerPixel))
        defer { withExtendedLifetime(library) {} }
        var bitmap = try Bitmap(uninitialized: size.width, size.height, format)
        try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
            try WebPReader.decode(bytes.part(frame.data), source: frame.size, into: rows)
        }
        return bitmap
    }

    private static func animation(
        _ structure: WebPStructure, _ wanted: Int, of bytes: UnsafeRawBufferPointer, _ options: DecodeOptions,
        _ change: FrameChange?
    ) throws(ImagingError) -> Image {
        var frames = try FrameCollector(
            options, canvas: structure.size, count: wanted, orientation: structure.blocks.orientation,
            profile: structure.profile, change: change)
        var canvas = try Bitmap(width: structure.size.width, height: structure.size.height, format: .rgba)
        for frame in structure.frames.prefix(wanted) {
            let size = frame.size
            guard frame.left + size.width <= canvas.width, frame.top + size.height <= canvas.height else {
                throw .corrupt(.webp, reason: "a frame outside the canvas")
            }
            let picture = try picture(frame, size: size, of: bytes, format: .rgba)
            try canvas.draw(picture, left: frame.left, top: frame.top, frame.blends ? .blendingAsLibwebp : .replacing)
            try frames.add(canvas, delay: .milliseconds(frame.duration))
            if frame.clears {
                try canvas.clear(left: frame.left, top: frame.top, width: size.width, height: size.height)
            }
            try ImageCodecs.checkTime()
        }
        return try frames.image(.webp, loopCount: structure.loopCount, metadata: structure.blocks.metadata)
    }
}

/// Decodes one still picture of a WebP into rows, with its data fed in pieces.
enum WebPReader {
    /// Decodes the picture's chunks, or a whole file, to RGB or RGBA with 8 bits a sample.
    ///
    /// libwebp scales the picture when the rows have another size.
    static func decode(
        _ data: UnsafeRawBufferPointer, source: PixelSize, into rows: MutableBitmapRows
    ) throws(ImagingError) {
        let bytes = data.bindMemory(to: UInt8.self)
        let length = rows.bytesPerRow * rows.height
        let scales = rows.width != source.width || rows.height != source.height
        let handle = try CodecHandle(
            kf_webp_reader_create(
                rows.row(0), rows.bytesPerRow, length, UInt32(clamping: rows.format.channelCount),
                scales ? UInt32(clamping: rows.width) : 0, scales ? UInt32(clamping: rows.height) : 0),
            .webp, bytes: length)

        // Few bytes can encode many pixels. The clock is checked after each hundredth of the data, and more often in a
        // large picture, where some bytes encode millions of pixels.
        let pixels = source.width * source.height
        let step = max(pixels > 1 << 22 ? 64 : 4096, bytes.count / max(100, pixels >> 20))
        var available = 0
        while true {
            available = min(available + step, bytes.count)
            let status = kf_webp_reader_feed(handle.pointer, bytes.baseAddress, available)
            guard status == KF_MORE else { return try handle.check(status) }
            if available == bytes.count { throw .truncated(.webp) }
            try ImageCodecs.checkTime()
        }
    }
}
