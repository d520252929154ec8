import CImageCodecs

/// Pulls rows out of a JPEG, at an eighth of its size up to all of it.
struct JPEGReader: ~Copyable {
    struct Header {
        /// As stored.
        var width = 0
        var height = 0
        /// 1 grey, 3 RGB, 4 CMYK with 255 for no ink.
        var channels = 0
        var hasManyScans = false
    }

    /// What taking in more of the scans came to.
    enum Progress {
        case more
        /// A scan is complete, and the next one has begun.
        case scan
        /// The last one has.
        case end
        /// There are no more bytes yet.
        case suspended
    }

    private let handle: OpaquePointer
    private(set) var header: Header

    /// Reads the header too. The bytes must stay where they are while the reader lives.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        let handle = try JPEGReader.create(bytes)
        do {
            header = try JPEGReader.header(handle) ?? Header()
        } catch {
            kf_jpeg_reader_destroy(handle)
            throw error
        }
        self.handle = handle
    }

    /// A reader whose bytes go on; `supply` tells it where.
    init(growing bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        handle = try JPEGReader.create(bytes)
        header = Header()
    }

    deinit {
        kf_jpeg_reader_destroy(handle)
    }

    private static func create(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> OpaquePointer {
        let data = bytes.bindMemory(to: UInt8.self)
        guard let handle = kf_jpeg_reader_create(data.baseAddress, data.count) else {
            throw .outOfMemory(bytes: 1 << 16)
        }
        return handle
    }

    /// All bytes from the start, more than before. They must stay where they are until the next call.
    mutating func supply(_ bytes: UnsafeRawBufferPointer, isAll: Bool) {
        let data = bytes.bindMemory(to: UInt8.self)
        kf_jpeg_reader_supply(handle, data.baseAddress, data.count, isAll ? 1 : 0)
    }

    /// False when the bytes end before the header does, and more may come.
    mutating func readHeader() throws(ImagingError) -> Bool {
        guard let header = try JPEGReader.header(handle) else { return false }
        self.header = header
        return true
    }

    private static func header(_ handle: OpaquePointer) throws(ImagingError) -> Header? {
        var header = kf_jpeg_header()
        let status = kf_jpeg_reader_header(handle, &header)
        if status == KF_SUSPENDED { return nil }
        try CodecStatus.check(status, .jpeg, bytes: 1 << 16, kf_jpeg_reader_message(handle))
        return Header(
            width: Int(header.width), height: Int(header.height), channels: Int(header.channels),
            hasManyScans: header.many_scans != 0)
    }

    /// Chooses numerator/8 of the size, before the start, and says what that comes to.
    mutating func scale(_ numerator: Int) throws(ImagingError) -> PixelSize {
        var (width, height): (UInt32, UInt32) = (0, 0)
        try check(kf_jpeg_reader_scale(handle, UInt32(numerator), &width, &height))
        return PixelSize(width: Int(width), height: Int(height))
    }

    /// Makes ready for the first row; the scans of a progressive picture are taken in here.
    mutating func start(maxScans: Int, _ deadline: Deadline) throws(ImagingError) {
        try begin()
        guard header.hasManyScans else { return }
        while try absorb(maxScans: maxScans) != .end { try deadline.check() }
        try beginOutput()
    }

    /// Makes ready for the scans, or without many of them for the first row.
    mutating func begin() throws(ImagingError) {
        try check(kf_jpeg_reader_start(handle))
    }

    /// Takes in some more of the scans.
    mutating func absorb(maxScans: Int) throws(ImagingError) -> Progress {
        var scans: UInt32 = 0
        let status = kf_jpeg_reader_absorb(handle, 16, &scans)
        if scans > maxScans { throw .tooManyScans(maxScans: maxScans) }
        switch status {
        case KF_MORE: return .more
        case KF_SCAN: return .scan
        case KF_SUSPENDED: return .suspended
        default:
            try check(status)
            return .end
        }
    }

    /// Makes ready for the first row of what the scans so far have brought.
    mutating func beginOutput() throws(ImagingError) {
        try check(kf_jpeg_reader_begin_output(handle))
    }

    /// Ends that picture, so that more scans can be taken in.
    mutating func endOutput() throws(ImagingError) {
        try check(kf_jpeg_reader_end_output(handle))
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
