/// GIF: read and written, animations too. Its pixels are opaque or fully transparent.
struct GIFCodec: Codec, CodecReader, CodecWriter {
    var format: ImageFormat { .gif }
    var displayName: String { "GIF" }
    var fileExtension: String { "gif" }
    var supportsAlpha: Bool { true }
    var supportsAnimation: Bool { true }
    var library: CodecLibrary? { .gif }
    var decodesGray: Bool { false }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.holds("GIF8", at: 0) }

    func probe(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage) throws(ImagingError) -> ImageInfo {
        let structure = try GIFStructure(bytes, passage: passage)
        return ImageInfo(
            format: .gif, stored: (structure.width, structure.height), frames: max(structure.frames, 1),
            hasAlpha: structure.hasTransparency, colorModel: .indexed, bitDepth: structure.bitDepth)
    }

    func checkStructure(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage
    ) throws(ImagingError) -> [ImageWarning] {
        try GIFStructure.check(bytes, passage: passage)
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        try GIFDecoder.decode(bytes, options: options, each: change)
    }

    /// The format has no place for a profile, so that the pixels are converted to sRGB.
    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        try GIFEncoder.encode(image.convertedToSRGB(), options: options)
    }
}
