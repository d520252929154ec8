import CImageCodecs

extension WebPCodec {
    /// Encodes WebP, lossy or lossless, still or animated.
    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        // WebP pixels are always coloured, and a grey profile does not describe them.
        let isGray = image.bitmap.format.isGray
        let image = isGray ? try image.convertedToSRGB() : image
        let writer = try CodecHandle(writing: image, as: .webp, longestSide: 16_383, kf_webp_writer_create)
        var output = kf_webp_output()
        (output.width, output.height) = (UInt32(clamping: image.width), UInt32(clamping: image.height))
        output.lossless = options.lossless ? 1 : 0
        output.quality = Int32(clamping: options.quality(of: .webp))
        output.effort = Int32(clamping: min(max(options.effort, 0), 6))
        output.animated = image.isAnimated ? 1 : 0
        output.plays = Int32(clamping: min(max(image.loopCount, 0), 65_535))
        let library = try MemoryReservation(
            image.width * image.height * bytesPerPixel(image, lossless: options.lossless))
        defer { withExtendedLifetime(library) {} }
        try writer.check(kf_webp_writer_start(writer.pointer, &output))
        // The times are rounded, not the delays, so that the fractions of a millisecond of APNG do not add up.
        var elapsed = Duration.zero
        var end = 0
        for frame in image.frames {
            try ImageCodecs.checkTime()
            let bitmap = try frame.bitmap.inColor()
            try bitmap.withUnsafeRows { (rows) throws(ImagingError) in
                var picture = kf_webp_picture()
                (picture.rows, picture.stride) = (rows.row(0), rows.bytesPerRow)
                picture.channels = UInt32(clamping: bitmap.format.channelCount)
                picture.start = Int32(truncatingIfNeeded: end)
                try writer.check(kf_webp_writer_picture(writer.pointer, &picture))
            }
            elapsed += min(max(frame.delay, .zero), .seconds(Int32.max))
            end = min(milliseconds(elapsed), Int(Int32.max))
        }
        let (profile, metadata) = (ICCProfile.fitting(image.iccProfile, .rgb), image.metadata)
        return try withBlocks(profile, exif: metadata?.exif, xmp: metadata?.xmp) { (blocks) throws(ImagingError) in
            try writer.file { kf_webp_writer_finish($0, Int32(clamping: end), &blocks, $1) }
        }
    }

    /// An upper estimate of the bytes that libwebp takes for each pixel.
    ///
    /// The alpha of a lossy picture is lossless: measured 10 bytes for flat alpha, 15 for a gradient, 31 for noise.
    private func bytesPerPixel(_ image: Image, lossless: Bool) -> Int {
        let picture = lossless ? 40 : image.frames.contains { !$0.bitmap.isOpaque } ? 31 : 5
        return picture + (image.isAnimated ? 24 : 0)
    }

    private func milliseconds(_ time: Duration) -> Int {
        let (seconds, attoseconds) = time.components
        return Int(min(seconds, Int64(Int32.max)) * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
