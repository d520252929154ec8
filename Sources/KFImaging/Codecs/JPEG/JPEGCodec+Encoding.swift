import CImageCodecs

extension JPEGCodec {
    /// Encodes JPEG, grey or coloured.
    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        let bitmap = image.bitmap
        guard bitmap.width <= 65_500, bitmap.height <= 65_500 else {
            throw .encodingFailed(.jpeg, reason: "a side of more than 65500 pixels")
        }
        guard let writer = kf_jpeg_writer_create(Allowance.bounds) else { throw .outOfMemory(bytes: 1 << 16) }
        defer { kf_jpeg_writer_destroy(writer) }
        func check(_ status: kf_status) throws(ImagingError) {
            try CodecStatus.check(
                writing: status, .jpeg, bytes: bitmap.byteCount, kf_jpeg_writer_message(writer))
        }

        var output = kf_jpeg_output()
        output.width = UInt32(bitmap.width)
        output.height = UInt32(bitmap.height)
        output.channels = UInt32(bitmap.format.channelCount)
        output.quality = Int32(options.quality(of: .jpeg))
        output.progressive = options.progressive ? 1 : 0
        // Optimised Huffman tables save some per cent of the file and cost a second pass with all coefficients in
        // memory: worth it for a thumbnail, not for a photograph.
        output.optimized = bitmap.width * bitmap.height <= 1 << 20 ? 1 : 0
        // libjpeg keeps some rows, and with a second pass two bytes for each sample.
        let samples = bitmap.width * bitmap.height * bitmap.format.channelCount
        let library = try MemoryReservation(
            bitmap.width * 256 + (output.optimized + output.progressive > 0 ? samples * 2 : 0))
        defer { withExtendedLifetime(library) {} }
        let sampling: UInt32 = options.chromaSubsampling == .half ? 2 : 1
        output.horizontal_sampling = sampling
        output.vertical_sampling = sampling
        let profile = ICCProfile.fitting(image.iccProfile, bitmap.format) ?? []
        try profile.withUnsafeBufferPointer { (icc) throws(ImagingError) in
            output.icc = icc.baseAddress
            output.icc_length = UInt32(icc.count)
            try check(kf_jpeg_writer_start(writer, &output))
        }
        if options.keepsMetadata {
            for segment in segments(image.metadata) {
                try check(kf_jpeg_writer_app1(writer, segment, UInt32(segment.count)))
            }
        }
        try bitmap.withSlices { (rows, first, count) throws(ImagingError) in
            try check(kf_jpeg_writer_rows(writer, rows.row(first), rows.bytesPerRow, UInt32(count)))
        }
        var bytes = kf_bytes()
        try check(kf_jpeg_writer_finish(writer, &bytes))
        return Array(UnsafeBufferPointer(start: bytes.bytes, count: bytes.length))
    }

    /// EXIF and XMP as the contents of segments; a block too large for a segment is omitted.
    private func segments(_ metadata: ImageMetadata?) -> [[UInt8]] {
        let exif = metadata?.exif.map { Array("Exif\0\0".utf8) + $0 }
        let xmp = metadata?.xmp.map { Array(JPEGStructure.xmpMarker.description.utf8) + $0 }
        return [exif, xmp].compactMap { $0 }.filter { $0.count <= Int(KF_JPEG_SEGMENT) }
    }
}
