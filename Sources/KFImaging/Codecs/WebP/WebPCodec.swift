/// WebP: read and written, lossy or lossless, animations too.
struct WebPCodec: Codec, CodecReader, CodecWriter {
    var format: ImageFormat { .webp }
    var displayName: String { "WebP" }
    var fileExtension: String { "webp" }
    var supportsAlpha: Bool { true }
    var supportsAnimation: Bool { true }
    var library: CodecLibrary? { .webp }
    var decodesGray: Bool { false }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.holds("RIFF", at: 0) && head.holds("WEBP", at: 8) }

    func probe(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage) throws(ImagingError) -> ImageInfo {
        let structure = try WebPStructure(bytes)
        return ImageInfo(
            format: .webp, stored: (structure.width, structure.height), orientation: structure.orientation,
            frames: max(structure.frames.count, 1), hasAlpha: structure.hasAlpha)
    }

    func checkStructure(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage
    ) throws(ImagingError) -> [ImageWarning] {
        try WebPStructure.check(bytes)
        return []
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        try WebPDecoder.decode(bytes, options: options, each: change)
    }

    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        try WebPEncoder.encode(image, options: options)
    }
}
