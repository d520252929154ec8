import CImageCodecs

/// Decodes one still picture of a WebP into rows, a piece of its data at a time.
enum WebPReader {
    /// Takes the picture's chunks or the whole file; the rows are RGB or RGBA of 8 bits, of the picture's size, or of
    /// another to scale to.
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

        // Compressed data can stand for many pixels: a hundredth of the picture between two looks at the clock, and less
        // where some bytes stand for millions.
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
