/// PNG: read and written, with 8 or 16 bits a sample. Of an animated PNG the default image is read.
struct PNGCodec: Codec, CodecReader, CodecWriter {
    var format: ImageFormat { .png }
    var displayName: String { "PNG" }
    var fileExtension: String { "png" }
    var supportsAlpha: Bool { true }
    var supportsAnimation: Bool { false }
    var library: CodecLibrary? { .png }
    var reader: (any CodecReader)? { self }
    var writer: (any CodecWriter)? { self }
    var decodesGray: Bool { true }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.starts(with: PNGStructure.signature) }

    func probe(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage) throws(ImagingError) -> ImageInfo {
        let structure = try PNGStructure(bytes, passage: passage)
        let models: [ImageInfo.ColorModel] = [.gray, .gray, .rgb, .indexed, .gray, .gray, .rgb]
        return ImageInfo(
            format: .png, stored: (structure.width, structure.height), orientation: structure.orientation,
            hasAlpha: structure.hasAlpha, colorModel: models[structure.colorType], bitDepth: structure.bitDepth)
    }

    func checkStructure(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage
    ) throws(ImagingError) -> [ImageWarning] {
        try PNGStructure.check(bytes, passage: passage)
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        try PNGDecoder.decode(bytes, [options])[0].finished(options, each: change)
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        try PNGDecoder.check(bytes, limits: limits)
    }

    func passes(
        over bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [[Int]] {
        [Array(sizes.indices)]
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [Image] {
        var images: [Image] = []
        for image in try PNGDecoder.decode(bytes, sizes.map(options.sized)) {
            images.append(try image.finished(options))
        }
        return images
    }

    func arrivalReader() -> (any ArrivalReader)? { PNGImageData() }

    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        try PNGEncoder.encode(image, options: options)
    }
}
