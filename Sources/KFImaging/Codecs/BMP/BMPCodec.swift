/// BMP of Windows and OS/2: read. JPEG and PNG inside a BMP, CMYK and 64 bits a pixel are not decoded.
///
/// The colour space of the header is ignored, except for an embedded ICC profile.
struct BMPCodec: Codec, CodecReader {
    var format: ImageFormat { .bmp }
    var displayName: String { "BMP" }
    var fileExtension: String { "bmp" }
    var supportsAlpha: Bool { true }
    var supportsAnimation: Bool { false }
    var decodesGray: Bool { true }

    /// Texts begin with "BM" too, so that the size of the second header must be a known one.
    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        guard head.holds("BM", at: 0), let size = head.littleEndian32(at: 14) else { return false }
        return BMPHeader.isSize(size)
    }

    func probe(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage) throws(ImagingError) -> ImageInfo {
        try BMPDecoder.info(bytes, BMPHeader(file: bytes))
    }

    func checkStructure(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage
    ) throws(ImagingError) -> [ImageWarning] {
        try BMPDecoder.check(bytes, BMPHeader(file: bytes))
        return []
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        try BMPDecoder.decode(bytes, BMPHeader(file: bytes), [options])[0].finished(options, each: change)
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        try BMPDecoder.check(bytes, BMPHeader(file: bytes), limits: limits)
        return []
    }

    func passes(
        over bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [[Int]] {
        [Array(sizes.indices)]
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [Image] {
        try BMPDecoder.decode(bytes, BMPHeader(file: bytes), sizes.map(options.sized)).finished(options)
    }
}
