/// BMP of Windows and OS/2: read. JPEG and PNG inside a BMP, CMYK and 64 bits a pixel are not decoded.
///
/// The colour space of the header is ignored, except for an embedded ICC profile.
struct BMPCodec: StructuredCodec {
    typealias Structure = BMPHeader

    var format: ImageFormat { .bmp }

    /// Texts begin with "BM" too, so that the size of the second header must be a known one.
    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        guard head.holds("BM", at: 0), let size = head.littleEndian32(at: 14) else { return false }
        return BMPHeader.isLength(size)
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        try BMPDecoder.decode(BMPHeader(bytes), requests).finished(requests, each: change)
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        try BMPDecoder.check(BMPHeader(bytes), limits: limits)
    }

    func passes(_ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions]) throws(ImagingError) -> [[Int]] {
        [Array(requests.indices)]
    }
}
