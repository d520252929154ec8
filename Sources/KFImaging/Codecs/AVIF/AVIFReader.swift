import CImageCodecs
import Glibc

/// Decodes the pictures of an AVIF one after the other, and converts their rows.
struct AVIFReader: ~Copyable {
    struct Picture {
        let format: PixelFormat
        let delay: Duration
    }

    /// What libavif repeats with every picture of a file.
    struct Description {
        let profile: [UInt8]?
        let metadata: ImageMetadata?
        /// The code points of HDR without a profile.
        let hdr: CodePoints?
    }

    private let handle: OpaquePointer
    private var facts = kf_avif_picture()
    private let coded: PixelSize
    private let visible: (x: Range<Int>, y: Range<Int>)
    private let threads: Int

    /// The bytes must stay in place for the lifetime of the reader.
    init(_ bytes: UnsafeRawBufferPointer, _ structure: AVIFStructure) throws(ImagingError) {
        try CodecLibrary.loadAVIF()
        guard let handle = kf_avif_reader_create() else { throw .outOfMemory(bytes: 1 << 16) }
        let coded = PixelSize(width: structure.properties.width, height: structure.properties.height)
        // The coded picture may be larger than its box states; dav1d refuses it. The cells of a grid are checked before.
        let pixels = coded.width * coded.height
        let threads = AVIFReader.threads(pixels)
        var bounds = kf_avif_bounds(
            pixels: UInt32(clamping: pixels), side: UInt32(clamping: max(coded.width, coded.height)),
            frames: UInt32(clamping: structure.frames), threads: UInt32(threads))
        let data = bytes.bindMemory(to: UInt8.self)
        let status = kf_avif_reader_open(handle, data.baseAddress, data.count, &bounds)
        do {
            try CodecStatus.check(status, .avif, bytes: data.count, kf_avif_reader_message(handle))
        } catch {
            kf_avif_reader_destroy(handle)
            throw error
        }
        self.handle = handle
        self.coded = coded
        self.threads = threads
        visible = structure.properties.visible
    }

    deinit {
        kf_avif_reader_destroy(handle)
    }

    /// The size of the visible part.
    var size: PixelSize { PixelSize(width: visible.x.count, height: visible.y.count) }

    mutating func next() throws(ImagingError) -> Picture {
        let status = CoderThreads.shared.counting(threads) { kf_avif_reader_next(handle, &facts) }
        try check(status)
        guard facts.width == coded.width, facts.height == coded.height else {
            throw .corrupt(.avif, reason: "a picture whose size differs from its header")
        }
        guard let channels = PixelFormat.Channels(rawValue: Int(facts.channels)) else {
            throw .unsupported(.avif, feature: "\(facts.channels) channels")
        }
        return Picture(
            format: PixelFormat(channels, facts.depth > 8 ? .sixteen : .eight),
            // A day is more than any encoder means, and far from the range of a duration.
            delay: facts.seconds > 0 ? .microseconds(Int64(min(facts.seconds, 86_400) * 1_000_000 + 0.5)) : .zero)
    }

    /// Returns the description of the current picture.
    func description(_ format: PixelFormat) -> Description {
        func block(_ bytes: UnsafePointer<UInt8>?, _ length: Int) -> UnsafeRawBufferPointer? {
            bytes.map { UnsafeRawBufferPointer(start: $0, count: length) }
        }
        let points = CodePoints(primaries: Int(facts.primaries), transfer: Int(facts.transfer))
        let embedded = ICCProfile.fitting(block(facts.icc, facts.icc_length).map(Array.init), format)
        return Description(
            profile: embedded ?? AVIFReader.profile(points, format),
            metadata: ImageMetadata(
                exif: block(facts.exif, facts.exif_length), xmp: block(facts.xmp, facts.xmp_length)),
            hdr: embedded == nil && points.isHDR ? points : nil)
    }

    /// Returns the profile of a picture that states code points only; nil is sRGB.
    ///
    /// Code point 2 is unspecified, which counts as sRGB. So does the curve of BT.709 with its own primaries: encoders
    /// of video state it for pictures that were made for display, and browsers show them as sRGB. PQ and HLG get no
    /// profile, because an ICC profile of their range is useless to an sRGB picture.
    private static func profile(_ stated: CodePoints, _ format: PixelFormat) -> [UInt8]? {
        let points = CodePoints(
            primaries: stated.primaries == 2 || format.isGray ? 1 : stated.primaries,
            transfer: stated.transfer == 2 ? 13 : stated.transfer)
        guard let space = points.space, space != .srgb, space != .bt709 else { return nil }
        return space.profile(isGray: format.isGray)
    }

    /// Reads visible rows of the current picture.
    mutating func read(
        _ rows: UnsafeMutableRawPointer, bytesPerRow: Int, from y: Int, count: Int
    ) throws(ImagingError) {
        let target = rows.assumingMemoryBound(to: UInt8.self)
        try check(
            kf_avif_reader_rows(
                handle, target, bytesPerRow, UInt32(visible.x.lowerBound), UInt32(visible.x.count),
                UInt32(visible.y.lowerBound + y), UInt32(count)))
    }

    private func check(_ status: kf_status) throws(ImagingError) {
        try CodecStatus.check(status, .avif, bytes: coded.width * coded.height, kf_avif_reader_message(handle))
    }

    /// Returns the number of dav1d's threads; pixels do not depend on it.
    ///
    /// Starting threads costs more than they save in a picture of less than a megapixel.
    private static func threads(_ pixels: Int) -> Int {
        pixels < 1 << 20 ? 1 : min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 8)
    }
}
