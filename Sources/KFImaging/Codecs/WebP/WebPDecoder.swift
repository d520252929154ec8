import CImageCodecs

/// Decodes WebP, lossy or lossless, with alpha, still or animated.
enum WebPDecoder {
    static func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange? = nil
    ) throws(ImagingError) -> Image {
        let deadline = Allowance.deadline(options.limits)
        let structure = try WebPStructure(bytes)
        let wanted = options.firstFrameOnly ? min(structure.frames.count, 1) : structure.frames.count
        try options.limits.check(width: structure.width, height: structure.height, frames: max(wanted, 1))
        if !structure.isComplete { throw .truncated(.webp) }
        guard let first = structure.frames.first else { throw .corrupt(.webp, reason: "no picture") }
        if structure.isAnimated {
            return try animation(structure, wanted, of: bytes, options, change, deadline)
        }
        guard first.width == structure.width, first.height == structure.height else {
            throw .corrupt(.webp, reason: "a picture whose size differs from its header")
        }
        let format: PixelFormat = first.hasAlpha ? .rgba : .rgb
        let plan = try DecodePlan(
            options, source: PixelSize(width: first.width, height: first.height), orientation: structure.orientation,
            bytesPerPixel: format.bytesPerPixel)
        var bitmap = try picture(first, size: scaled(plan), of: bytes, format: format, deadline)
        if let exact = plan.exact { bitmap = try Resampler.resize(bitmap, to: exact) }
        return try Image(
            stored: bitmap, .webp, structure.orientation, profile: profile(structure, bytes),
            metadata: structure.metadata(in: bytes)
        ).finished(options, each: change)
    }

    private static func profile(_ structure: WebPStructure, _ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        ICCProfile.fitting(structure.profile.map { Array(bytes[$0]) }, .rgb)
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
            width: min(source.width, Int((Double(source.width) * factor).rounded(.up))),
            height: min(source.height, Int((Double(source.height) * factor).rounded(.up))))
    }

    private static func picture(
        _ frame: WebPStructure.Frame, size: PixelSize, of bytes: UnsafeRawBufferPointer, format: PixelFormat,
        _ deadline: Deadline
    ) throws(ImagingError) -> Bitmap {
        // libwebp holds a whole lossless picture, and the whole alpha plane of a lossy one.
        let library = try MemoryReservation(
            frame.width * 256 + frame.width * frame.height * (frame.isLossless ? 4 : frame.hasAlpha ? 5 : 0))
        defer { withExtendedLifetime(library) {} }
        var bitmap = try Bitmap(uninitialized: size.width, size.height, format)
        let source = PixelSize(width: frame.width, height: frame.height)
        try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
            try WebPReader.decode(
                UnsafeRawBufferPointer(rebasing: bytes[frame.data]), source: source, into: rows, deadline)
        }
        return bitmap
    }

    private static func animation(
        _ structure: WebPStructure, _ wanted: Int, of bytes: UnsafeRawBufferPointer, _ options: DecodeOptions,
        _ change: FrameChange?, _ deadline: Deadline
    ) throws(ImagingError) -> Image {
        var frames = try FrameCollector(
            options, canvas: PixelSize(width: structure.width, height: structure.height), count: wanted,
            orientation: structure.orientation, profile: profile(structure, bytes), change: change)
        var canvas = try Bitmap(width: structure.width, height: structure.height, format: .rgba)
        for frame in structure.frames.prefix(wanted) {
            guard frame.left + frame.width <= canvas.width, frame.top + frame.height <= canvas.height else {
                throw .corrupt(.webp, reason: "a frame outside the canvas")
            }
            let size = PixelSize(width: frame.width, height: frame.height)
            let picture = try picture(frame, size: size, of: bytes, format: .rgba, deadline)
            try canvas.draw(picture, left: frame.left, top: frame.top, frame.blends ? .blendingAsLibwebp : .replacing)
            try frames.add(canvas, delay: .milliseconds(frame.duration))
            if frame.clears {
                try canvas.clear(left: frame.left, top: frame.top, width: frame.width, height: frame.height)
            }
            try deadline.check()
        }
        return try frames.image(.webp, loopCount: structure.loopCount, metadata: structure.metadata(in: bytes))
    }
}

/// Decodes one still picture of a WebP into rows, with its data fed in pieces.
enum WebPReader {
    /// Decodes the picture's chunks, or a whole file, to RGB or RGBA with 8 bits a sample.
    ///
    /// libwebp scales the picture when the rows have another size.
    static func decode(
        _ data: UnsafeRawBufferPointer, source: PixelSize, into rows: MutableBitmapRows, _ deadline: Deadline
    ) throws(ImagingError) {
        let bytes = data.bindMemory(to: UInt8.self)
        let length = rows.bytesPerRow * rows.height
        let scales = rows.width != source.width || rows.height != source.height
        guard
            let handle = kf_webp_reader_create(
                rows.row(0), rows.bytesPerRow, length, UInt32(rows.format.channelCount),
                scales ? UInt32(rows.width) : 0,
                scales ? UInt32(rows.height) : 0)
        else { throw .outOfMemory(bytes: length) }
        defer { kf_webp_reader_destroy(handle) }

        // Few bytes can encode many pixels. The clock is checked after each hundredth of the data, and more often in a
        // large picture, where some bytes encode millions of pixels.
        let pixels = source.width * source.height
        let step = max(pixels > 1 << 22 ? 64 : 4096, bytes.count / max(100, pixels >> 20))
        var available = 0
        while true {
            available = min(available + step, bytes.count)
            let status = kf_webp_reader_feed(handle, bytes.baseAddress, available)
            if status == KF_MORE, available < bytes.count {
                try deadline.check()
            } else if status == KF_MORE {
                throw .truncated(.webp)
            } else {
                try CodecStatus.check(status, .webp, bytes: length, kf_webp_reader_message(handle))
                return
            }
        }
    }
}
