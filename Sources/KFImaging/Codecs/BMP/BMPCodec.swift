/// BMP of Windows and OS/2: read. JPEG and PNG inside a BMP, CMYK and 64 bits a pixel are not decoded.
///
/// The colour space of the header is ignored, except for an embedded ICC profile.
struct BMPCodec: PassCodec {
    var format: ImageFormat { .bmp }

    /// Texts begin with "BM" too, so that the size of the second header must be a known one.
    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        guard head.holds("BM", at: 0), let size = head.littleEndian32(at: 14) else { return false }
        return BMPHeader.isSize(size)
    }

    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo {
        try BMPDecoder.info(bytes, BMPHeader(file: bytes))
    }

    func inspect(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits, passage: ReadPassage
    ) throws(ImagingError) -> (info: ImageInfo, warnings: [ImageWarning]) {
        let header = try BMPHeader(file: bytes)
        let info = BMPDecoder.info(bytes, header)
        try limits.check(info)
        try BMPDecoder.check(bytes, header)
        return (info, [])
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        try BMPDecoder.decode(bytes, BMPHeader(file: bytes), requests).finished(requests, each: change)
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        try BMPDecoder.check(bytes, BMPHeader(file: bytes), limits: limits)
        return []
    }

    func passes(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions]
    ) throws(ImagingError) -> [[Int]] {
        [Array(requests.indices)]
    }
}
