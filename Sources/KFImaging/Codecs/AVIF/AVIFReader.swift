import CImageCodecs
import Glibc

/// Decodes the pictures of an AVIF one after the other, and converts their rows.
struct AVIFReader: ~Copyable {
    struct Picture {
        let format: PixelFormat
        let delay: Duration
    }

    private let handle: CodecHandle
    /// The changed files that libavif reads in place of the original.
    private let files: [AVIFCopy?]
    private let hasAlpha: Bool
    /// Counts the memory of libavif and dav1d.
    private let library: MemoryReservation
    private var facts = kf_picture()
    private let coded: PixelSize
    private let visible: (x: Range<Int>, y: Range<Int>)
    private let threads: Int

    /// The bytes must stay in place for the lifetime of the reader.
    init(_ bytes: UnsafeRawBufferPointer, _ structure: AVIFStructure) throws(ImagingError) {
        let library = try MemoryReservation(structure.libraryBytes)
        try LoadedLibrary.avif.require()
        let coded = structure.properties.size
        // The coded picture may be larger than its box states; dav1d refuses it. The cells of a grid are checked before.
        let pixels = coded.width * coded.height
        let threads = AVIFReader.threads(pixels)
        let handle = try CodecHandle(kf_avif_reader_create(), .avif, bytes: pixels)
        var bounds = kf_avif_bounds(
            pixels: UInt32(clamping: pixels), side: UInt32(clamping: max(coded.width, coded.height)),
            frames: UInt32(clamping: structure.frames), threads: UInt32(clamping: threads))
        let files = [try structure.changes.applied(to: bytes), try structure.alphaChanges?.applied(to: bytes)]
        for (index, file) in [files[0]?.bytes ?? bytes, files[1]?.bytes].compactMap(\.self).enumerated() {
            let data = file.bindMemory(to: UInt8.self)
            try handle.check(
                kf_avif_reader_open(handle.pointer, data.baseAddress, data.count, &bounds, Int32(clamping: index)),
                bytes: data.count)
        }
        (self.library, self.coded, self.threads) = (library, coded, threads)
        (visible, hasAlpha) = (structure.properties.visible, structure.hasAlpha)
        self.files = files
        self.handle = handle
    }

    /// The size of the visible part.
    var size: PixelSize { PixelSize(width: visible.x.count, height: visible.y.count) }

    mutating func next() throws(ImagingError) -> Picture {
        try handle.check(CoderThreads.shared.counting(threads) { kf_avif_reader_next(handle.pointer, &facts) })
        guard facts.width == coded.width, facts.height == coded.height else {
            throw .corrupt(.avif, reason: "a picture whose size differs from its header")
        }
        let format = try facts.format(of: .avif)
        guard format.hasAlpha == hasAlpha else {
            throw .unsupported(.avif, feature: "alpha that libavif reads in another way")
        }
        return Picture(
            format: format,
            // A day is more than any encoder means, and far from the range of a duration.
            delay: facts.seconds > 0
                ? .microseconds(Int64(clamping: min(facts.seconds, 86_400) * 1_000_000 + 0.5)) : .zero)
    }

    /// Returns the description of the current picture, which libavif repeats with every picture of a file.
    func description(_ format: PixelFormat) -> PictureDescription { PictureDescription(format, facts) }

    /// Reads visible rows of the current picture.
    mutating func read(
        _ rows: UnsafeMutableRawPointer, bytesPerRow: Int, from y: Int, count: Int
    ) throws(ImagingError) {
        let target = rows.assumingMemoryBound(to: UInt8.self)
        try handle.check(
            kf_avif_reader_rows(
                handle.pointer, target, bytesPerRow, UInt32(clamping: visible.x.lowerBound),
                UInt32(clamping: visible.x.count),
                UInt32(clamping: visible.y.lowerBound + y), UInt32(clamping: count)))
    }

    /// Reads the visible rows of the current picture once for each target.
    mutating func read(_ picture: Picture, _ targets: [PixelSize?]) throws(ImagingError) -> [Bitmap] {
        var rows = try RowTarget(size, picture.format, targets: targets)
        var y = 0
        return try rows.fill { (base, bytesPerRow, count) throws(ImagingError) in
            try read(base, bytesPerRow: bytesPerRow, from: y, count: count)
            y += count
        }
    }

    /// Returns the number of dav1d's threads; pixels do not depend on it.
    ///
    /// Starting threads costs more than they save in a picture of less than a megapixel.
    private static func threads(_ pixels: Int) -> Int {
        pixels < 1 << 20 ? 1 : min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 8)
    }
}
