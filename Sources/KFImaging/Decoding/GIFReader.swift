import CImageCodecs

/// Pulls frames and their rows of palette indexes out of a GIF.
struct GIFReader: ~Copyable {
    private let handle: OpaquePointer
    let width: Int
    let height: Int

    struct Frame {
        var left, top, width, height: Int
        var isInterlaced: Bool
        var disposal: Int
        /// In hundredths of a second.
        var delay: Int
        /// 256 RGBA colours, four bytes each; the transparent one and those the file does not define are clear.
        var palette: [UInt32]
    }

    /// The bytes must stay where they are while the reader lives.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        let data = bytes.bindMemory(to: UInt8.self)
        guard let handle = kf_gif_reader_create(data.baseAddress, data.count) else {
            throw .outOfMemory(bytes: 1 << 16)
        }
        var (width, height): (UInt32, UInt32) = (0, 0)
        let status = kf_gif_reader_screen(handle, &width, &height)
        do {
            try CodecStatus.check(status, .gif, bytes: data.count, kf_gif_reader_message(handle))
        } catch {
            kf_gif_reader_destroy(handle)
            throw error
        }
        self.handle = handle
        self.width = Int(width)
        self.height = Int(height)
    }

    deinit {
        kf_gif_reader_destroy(handle)
    }

    /// The next frame's description, nil at the trailer.
    mutating func next() throws(ImagingError) -> Frame? {
        var frame = kf_gif_frame()
        let status = kf_gif_reader_next(handle, &frame)
        if status == KF_OK { return nil }
        if status != KF_MORE { try check(status) }
        return Frame(
            left: Int(frame.left), top: Int(frame.top), width: Int(frame.width), height: Int(frame.height),
            isInterlaced: frame.interlaced != 0, disposal: Int(frame.disposal), delay: Int(frame.delay),
            palette: GIFReader.palette(frame))
    }

    /// Reads the next rows of the frame, one byte a pixel, without gaps.
    mutating func read(_ indexes: UnsafeMutablePointer<UInt8>, count: Int) throws(ImagingError) {
        try check(kf_gif_reader_rows(handle, indexes, UInt32(count)))
    }

    private static func palette(_ frame: kf_gif_frame) -> [UInt32] {
        var palette = [UInt32](repeating: 0, count: 256)
        guard let colors = frame.palette else {
            // The format leaves it to the decoder; a ramp of greys is what most of them take.
            for index in 0..<256 { palette[index] = UInt32(littleEndian: UInt32(index) * 0x01_0101 | 0xFF00_0000) }
            if frame.transparent >= 0 { palette[Int(frame.transparent)] = 0 }
            return palette
        }
        for index in 0..<Int(frame.palette_count) {
            let (red, green, blue) = (colors[3 * index], colors[3 * index + 1], colors[3 * index + 2])
            palette[index] = UInt32(littleEndian: UInt32(red) | UInt32(green) << 8 | UInt32(blue) << 16 | 0xFF00_0000)
        }
        if frame.transparent >= 0 { palette[Int(frame.transparent)] = 0 }
        return palette
    }

    private func check(_ status: kf_status) throws(ImagingError) {
        try CodecStatus.check(status, .gif, bytes: 1 << 16, kf_gif_reader_message(handle))
    }
}
