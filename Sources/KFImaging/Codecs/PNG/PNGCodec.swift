/// PNG: read and written, with 8 or 16 bits a sample. Animations are read, and not written.
struct PNGCodec: Codec, CodecReader, CodecWriter {
    var format: ImageFormat { .png }
    var displayName: String { "PNG" }
    var fileExtension: String { "png" }
    var supportsAlpha: Bool { true }
    var supportsAnimation: Bool { false }
    var library: CodecLibrary? { .png }
    var readsAnimation: Bool { true }
    var decodesGray: Bool { true }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.starts(with: PNGStructure.signature) }

    func probe(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage) throws(ImagingError) -> ImageInfo {
        let structure = try PNGStructure(bytes, passage: passage)
        let models: [ImageInfo.ColorModel] = [.gray, .gray, .rgb, .indexed, .gray, .gray, .rgb]
        return ImageInfo(
            format: .png, stored: (structure.width, structure.height), orientation: structure.orientation,
            frames: structure.animation?.frames ?? 1, hasAlpha: structure.hasAlpha,
            colorModel: models[structure.colorType], bitDepth: structure.bitDepth)
    }

    func checkStructure(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage
    ) throws(ImagingError) -> [ImageWarning] {
        try PNGStructure.check(bytes, passage: passage)
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        let structure = try PNGStructure(whole: bytes, limits: options.limits)
        if let animation = structure.animation(firstFrameOnly: options.firstFrameOnly) {
            return try PNGAnimationDecoder.decode(bytes, structure, animation, options, each: change)
        }
        return try PNGDecoder.decode(bytes, structure, [options])[0].finished(options, each: change)
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        let structure = try PNGStructure(whole: bytes, limits: limits)
        let animation = structure.animation(firstFrameOnly: false)
        if let animation { try PNGAnimationDecoder.check(bytes, structure, animation, limits) }
        // Else the default image is the first frame.
        if animation?.startsWithDefaultImage != true { try PNGDecoder.check(bytes, structure, limits) }
        return structure.warningsOfDecoding
    }

    func passes(
        over bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [[Int]] {
        let structure = try PNGStructure(bytes)
        // All sizes of a still picture are made in one pass.
        let isStill = structure.animation(firstFrameOnly: options.firstFrameOnly) == nil
        return isStill ? [Array(sizes.indices)] : sizes.indices.map { [$0] }
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [Image] {
        let structure = try PNGStructure(whole: bytes, limits: options.limits)
        guard let animation = structure.animation(firstFrameOnly: options.firstFrameOnly) else {
            return try PNGDecoder.decode(bytes, structure, sizes.map(options.sized)).finished(options)
        }
        return try sizes.map { (size) throws(ImagingError) in
            try PNGAnimationDecoder.decode(bytes, structure, animation, options.sized(size), each: nil)
        }
    }

    func arrivalReader() -> (any ArrivalReader)? { PNGImageData() }

    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        try PNGEncoder.encode(image, options: options)
    }
}
