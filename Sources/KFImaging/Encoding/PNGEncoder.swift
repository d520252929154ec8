import CImageCodecs

/// Writes PNG with 8 or 16 bits a sample.
enum PNGEncoder {
    static func encode(
        _ bitmap: Bitmap, iccProfile: [UInt8]?, options: EncodeOptions
    ) throws(ImagingError) -> [UInt8] {
        guard bitmap.width <= Int(Int32.max), bitmap.height <= Int(Int32.max) else {
            throw .encodingFailed(.png, reason: "\(bitmap.width)×\(bitmap.height) pixels")
        }
        guard let writer = kf_png_writer_create() else { throw .outOfMemory(bytes: 1 << 16) }
        defer { kf_png_writer_destroy(writer) }
        func check(_ status: kf_status) throws(ImagingError) {
            if status == KF_NO_MEMORY { throw .outOfMemory(bytes: bitmap.byteCount) }
            if status != KF_OK { throw .encodingFailed(.png, reason: String(cString: kf_png_writer_message(writer))) }
        }

        var output = kf_png_output()
        output.width = UInt32(bitmap.width)
        output.height = UInt32(bitmap.height)
        output.channels = UInt32(bitmap.format.channelCount)
        output.depth = UInt32(bitmap.format.depth.rawValue)
        output.level = Int32(min(max(options.compressionLevel, 0), 9))
        let profile = ICCProfile.fitting(iccProfile, bitmap.format) ?? []
        try profile.withUnsafeBufferPointer { (icc) throws(ImagingError) in
            output.icc = icc.baseAddress
            output.icc_length = UInt32(icc.count)
            try check(kf_png_writer_start(writer, &output))
        }
        try bitmap.withUnsafeRows { (rows) throws(ImagingError) in
            try check(kf_png_writer_rows(writer, rows.row(0), rows.bytesPerRow, UInt32(rows.height)))
        }
        var bytes = kf_bytes()
        try check(kf_png_writer_finish(writer, &bytes))
        return Array(UnsafeBufferPointer(start: bytes.bytes, count: bytes.length))
    }
}
