import CImageCodecs

extension JPEGCodec {
    /// Encodes JPEG, grey or coloured.
    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        let bitmap = image.bitmap
        let writer = try CodecHandle(writing: image, as: .jpeg, longestSide: 65_500, kf_jpeg_writer_create)
        var output = kf_jpeg_output()
        (output.width, output.height) = (UInt32(clamping: bitmap.width), UInt32(clamping: bitmap.height))
        output.channels = UInt32(clamping: bitmap.format.channelCount)
        output.quality = Int32(clamping: options.quality(of: .jpeg))
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
        (output.horizontal_sampling, output.vertical_sampling) = (sampling, sampling)
        let exif = image.metadata?.exif.map { Array("Exif\0\0".utf8) + $0 }
        let xmp = image.metadata?.xmp.map { Array(JPEGStructure.xmpMarker.description.utf8) + $0 }
        try withBlocks(ICCProfile.fitting(image.iccProfile, bitmap.format), exif: exif, xmp: xmp) {
            (blocks) throws(ImagingError) in
            try writer.check(kf_jpeg_writer_start(writer.pointer, &output, &blocks))
        }
        try bitmap.withSlices { (rows, first, count) throws(ImagingError) in
            try writer.check(
                kf_jpeg_writer_rows(writer.pointer, rows.row(first), rows.bytesPerRow, UInt32(clamping: count)))
        }
        return try writer.file(kf_jpeg_writer_finish)
    }
}
