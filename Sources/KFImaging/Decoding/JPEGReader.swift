import CImageCodecs

/// Pulls rows out of a JPEG, at an eighth of its size up to all of it.
struct JPEGReader: ~Copyable {
    private let handle: OpaquePointer
    /// As stored.
    let width: Int
    let height: Int
    let channels: Int
    /// Whether CMYK stands as Adobe writes it: 255 for no ink.
    let isInverted: Bool
    let hasManyScans: Bool

    /// The bytes must stay where they are while the reader lives.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        let data = bytes.bindMemory(to: UInt8.self)
        guard let handle = kf_jpeg_reader_create(data.baseAddress, data.count) else {
            throw .outOfMemory(bytes: 1 << 16)
        }
        var header = kf_jpeg_header()
        let status = kf_jpeg_reader_header(handle, &header)
        do {
            try CodecStatus.check(status, .jpeg, bytes: data.count, kf_jpeg_reader_message(handle))
        } catch {
            kf_jpeg_reader_destroy(handle)
            throw error
        }
        self.handle = handle
        width = Int(header.width)
        height = Int(header.height)
        channels = Int(header.channels)
        isInverted = header.inverted != 0
        hasManyScans = header.many_scans != 0
    }

    deinit {
        kf_jpeg_reader_destroy(handle)
    }

    /// Chooses numerator/8 of the size, before the start, and says what that comes to.
    mutating func scale(_ numerator: Int) throws(ImagingError) -> PixelSize {
        var (width, height): (UInt32, UInt32) = (0, 0)
        try check(kf_jpeg_reader_scale(handle, UInt32(numerator), &width, &height))
        return PixelSize(width: Int(width), height: Int(height))
    }

    /// Makes ready for the first row; the scans of a progressive picture are taken in here.
    mutating func start(maxScans: Int, _ deadline: Deadline) throws(ImagingError) {
        try check(kf_jpeg_reader_start(handle))
        guard hasManyScans else { return }
        var scans: UInt32 = 0
        while true {
            let status = kf_jpeg_reader_absorb(handle, 16, &scans)
            if scans > maxScans { throw .tooManyScans(maxScans: maxScans) }
            if status != KF_MORE, status != KF_SCAN {
                try check(status)
                break
            }
            try deadline.check()
        }
        try check(kf_jpeg_reader_begin_output(handle))
    }

    mutating func read(_ rows: UnsafeMutableRawPointer, bytesPerRow: Int, count: Int) throws(ImagingError) {
        let target = rows.assumingMemoryBound(to: UInt8.self)
        try check(kf_jpeg_reader_rows(handle, target, bytesPerRow, UInt32(count)), bytes: bytesPerRow * count)
    }

    /// Reads on to the end marker, which must be there.
    mutating func finish() throws(ImagingError) {
        try check(kf_jpeg_reader_finish(handle))
    }

    private func check(_ status: kf_status, bytes: Int = 1 << 16) throws(ImagingError) {
        try CodecStatus.check(status, .jpeg, bytes: bytes, kf_jpeg_reader_message(handle))
    }
}
