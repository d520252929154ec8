import CImageCodecs

/// Pulls rows out of a PNG.
struct PNGReader: ~Copyable {
    private let handle: OpaquePointer
    let width: Int
    let height: Int
    let format: PixelFormat
    /// 1, or 7 when interlaced: then all rows are read seven times over.
    let passes: Int
    let iccProfile: [UInt8]?

    /// The bytes must stay where they are while the reader lives.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        let data = bytes.bindMemory(to: UInt8.self)
        guard let handle = kf_png_reader_create(data.baseAddress, data.count) else {
            throw .outOfMemory(bytes: 1 << 16)
        }
        var header = kf_png_header()
        let status = kf_png_reader_header(handle, &header)
        do throws(ImagingError) {
            try CodecStatus.check(status, .png, bytes: data.count, kf_png_reader_message(handle))
            guard let channels = PixelFormat.Channels(rawValue: Int(header.channels)),
                let depth = PixelFormat.Depth(rawValue: Int(header.depth))
            else { throw .unsupported(.png, feature: "\(header.channels) channels of \(header.depth) bits") }
            format = PixelFormat(channels, depth)
        } catch {
            kf_png_reader_destroy(handle)
            throw error
        }
        self.handle = handle
        width = Int(header.width)
        height = Int(header.height)
        passes = Int(header.passes)
        iccProfile = header.icc.map { Array(UnsafeBufferPointer(start: $0, count: Int(header.icc_length))) }
    }

    deinit {
        kf_png_reader_destroy(handle)
    }

    /// Reads the next rows of the pass.
    mutating func read(_ rows: UnsafeMutableRawPointer, bytesPerRow: Int, count: Int) throws(ImagingError) {
        let target = rows.assumingMemoryBound(to: UInt8.self)
        let status = kf_png_reader_rows(handle, target, bytesPerRow, UInt32(count))
        try CodecStatus.check(status, .png, bytes: bytesPerRow * count, kf_png_reader_message(handle))
    }
}
