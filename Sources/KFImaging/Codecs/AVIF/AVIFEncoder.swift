import CImageCodecs
import Glibc

/// Encodes AVIF, lossy or lossless, still or animated.
///
/// A grey image is monochrome. Samples of 16 bits become 10 bits, or 12 in a lossless file. Alpha is always lossless:
/// its edges show the artefacts of a lossy one, and it is small.
enum AVIFEncoder {
    /// The number of threads has no influence on the bytes unless it is 1.
    static func encode(
        _ image: Image, options: EncodeOptions, threads: Int = AVIFEncoder.threads
    ) throws(ImagingError) -> [UInt8] {
        try LoadedLibrary.avif.require()
        let writer = try CodecHandle(writing: image, as: .avif, longestSide: 65_536, kf_avif_writer_create)
        // All frames of a file have one layout.
        let isGray = image.frames.allSatisfy(\.bitmap.format.isGray)
        let isDeep = image.frames.allSatisfy { $0.bitmap.format.depth == .sixteen }
        let hasAlpha = image.frames.contains { !$0.bitmap.isOpaque }
        var output = kf_avif_output()
        (output.width, output.height) = (UInt32(clamping: image.width), UInt32(clamping: image.height))
        output.depth = !isDeep ? 8 : options.lossless ? 12 : 10
        output.gray = isGray ? 1 : 0
        output.alpha = hasAlpha ? 1 : 0
        output.full_chroma = options.chromaSubsampling == .none ? 1 : 0
        output.lossless = options.lossless ? 1 : 0
        output.quality = Int32(clamping: options.quality(of: .avif))
        // Above 6, libavif has animations encoded in libaom's real-time mode, which crashes on lossless planes such as
        // alpha (libavif's issue 1190).
        output.speed = Int32(clamping: min(max(options.speed, 0), image.isAnimated ? 6 : 10))
        if let points = image.codePoints, image.iccProfile == nil {
            (output.primaries, output.transfer) = (
                UInt16(clamping: points.primaries), UInt16(clamping: points.transfer)
            )
        }
        output.threads = Int32(clamping: threads)
        output.animated = image.isAnimated ? 1 : 0
        output.plays = Int32(clamping: min(max(image.loopCount, 0), 1 << 30))
        let library = try MemoryReservation(memory(of: output))
        defer { withExtendedLifetime(library) {} }
        try start(writer, image, output, options)
        for frame in image.frames {
            try ImageCodecs.checkTime()
            let bitmap = try (isDeep ? frame.bitmap : frame.bitmap.reducedToEightBits())
                .expanded(color: !isGray, alpha: hasAlpha)
            try bitmap.withUnsafeRows { (rows) throws(ImagingError) in
                var picture = kf_avif_input()
                (picture.rows, picture.stride) = (rows.row(0), rows.bytesPerRow)
                picture.channels = UInt32(clamping: bitmap.format.channelCount)
                picture.depth = UInt32(clamping: bitmap.format.depth.rawValue)
                picture.duration = milliseconds(frame.delay)
                try writer.check(
                    CoderThreads.shared.counting(threads) { kf_avif_writer_picture(writer.pointer, &picture) })
            }
        }
        return try writer.file { writer, file in
            CoderThreads.shared.counting(threads) { kf_avif_writer_finish(writer, file) }
        }
    }

    /// Starts the file with its profile and metadata, which libavif copies.
    private static func start(
        _ writer: borrowing CodecHandle, _ image: Image, _ output: kf_avif_output, _ options: EncodeOptions
    ) throws(ImagingError) {
        let metadata = options.keepsMetadata ? image.metadata : nil
        let profile = ICCProfile.fitting(image.iccProfile, output.gray != 0 ? .gray : .rgb)
        // libavif refuses the whole picture for EXIF that is not a TIFF file.
        let exif = metadata?.exif.flatMap { exif in exif.withUnsafeBytes(isTIFF) ? exif : nil }
        var output = output
        try withBlocks(profile, exif: exif, xmp: metadata?.xmp) { (blocks) throws(ImagingError) in
            try writer.check(kf_avif_writer_start(writer.pointer, &output, &blocks))
        }
    }

    private static func isTIFF(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.holds("II*\0", at: 0) || bytes.holds("MM\0*", at: 0)
    }

    /// The number of threads for one picture.
    ///
    /// libaom writes the same bytes with 2 threads and more, and others with 1, so that 1 is never taken.
    static var threads: Int { min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 2), 4) }

    /// An upper estimate of the bytes that libavif and libaom take.
    ///
    /// Measured for a still picture of 24 MP: 16 bytes a pixel, 31 when it is lossless; smaller ones take a little more.
    /// For an animation libaom holds some 40 frames, each with a border: 90 bytes a pixel, and as much for alpha; a third
    /// more at the low speeds.
    private static func memory(of output: kf_avif_output) -> Int {
        let hasFullChroma = output.full_chroma != 0 || output.lossless != 0
        if output.animated != 0 {
            let pixels = (Int(output.width) + 576) * (Int(output.height) + 576)
            let plane = (output.speed < 6 ? 120 : 96) * (output.depth > 8 ? 2 : 1)
            return pixels * plane * ((hasFullChroma ? 2 : 1) + (output.alpha != 0 ? 1 : 0))
        }
        var bytes = 18
        if output.speed < 6 { bytes += 8 }
        if hasFullChroma { bytes += 8 }
        if output.lossless != 0 { bytes += 6 }
        if output.depth > 8 { bytes += bytes / 2 }
        if output.alpha != 0 { bytes += 9 }
        return (28 << 20) + Int(output.width) * Int(output.height) * bytes
    }

    private static func milliseconds(_ delay: Duration) -> UInt32 {
        let (seconds, attoseconds) = delay.components
        return UInt32(clamping: min(max(seconds, 0), 1 << 20) * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
