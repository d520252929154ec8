import CImageCodecs

/// Tells whether a PNG's image data is there as a whole, by inflating it.
enum PNGDataLength {
    /// Whether the data chunks, which must be whole, inflate to at least so many bytes. What they inflate to is not kept.
    static func reaches(_ wanted: Int, in bytes: UnsafeRawBufferPointer) throws(ImagingError) -> Bool {
        guard let inflater = kf_png_inflater_create() else { throw .outOfMemory(bytes: 1 << 17) }
        defer { kf_png_inflater_destroy(inflater) }
        guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
        var position = 8
        while let length = bytes.bigEndian32(at: position), position + 12 + length <= bytes.count {
            if bytes.holds("IDAT", at: position + 4) {
                let status = kf_png_inflater_feed(inflater, base + position + 8, length, UInt64(wanted))
                if status != KF_MORE { return status == KF_OK }
            }
            position += 12 + length
        }
        return false
    }
}
