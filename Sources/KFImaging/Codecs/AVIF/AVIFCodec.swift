/// AVIF: read and written, still and animated, with 8, 10 or 12 bits a sample.
struct AVIFCodec: Codec, CodecReader, CodecWriter {
    var format: ImageFormat { .avif }
    var displayName: String { "AVIF" }
    var fileExtension: String { "avif" }
    var supportsAlpha: Bool { true }
    var supportsAnimation: Bool { true }
    var library: CodecLibrary? { .avif }
    var decodesGray: Bool { true }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.hasISOBrand(["avif", "avis"]) }

    func probe(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage) throws(ImagingError) -> ImageInfo {
        let structure = try AVIFStructure(bytes)
        let properties = structure.properties
        return ImageInfo(
            format: .avif, stored: (structure.size.width, structure.size.height), orientation: properties.orientation,
            frames: structure.frames, hasAlpha: structure.hasAlpha, colorModel: properties.isGray ? .gray : .rgb,
            bitDepth: properties.bitDepth)
    }

    func checkStructure(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage
    ) throws(ImagingError) -> [ImageWarning] {
        try AVIFStructure.check(bytes)
        return []
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        try AVIFDecoder.decode(bytes, options: options, each: change)
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        try AVIFDecoder.check(bytes, limits: limits)
        return []
    }

    /// dav1d holds the whole picture, at most with full chroma and alpha.
    func heldBytes(_ info: ImageInfo) -> Double {
        Double(info.width) * Double(info.height) * (info.bitDepth > 8 ? 2 : 1) * (info.hasAlpha ? 3 : 2)
    }

    func passes(
        over bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [[Int]] {
        let frames = options.firstFrameOnly ? 1 : try AVIFStructure(bytes).frames
        return frames == 1 ? [Array(sizes.indices)] : sizes.indices.map { [$0] }
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [Image] {
        if sizes.count == 1 { return [try decode(bytes, options: options.sized(sizes[0]), each: nil)] }
        return try AVIFDecoder.stills(bytes, sizes.map(options.sized)).finished(options)
    }

    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        try AVIFEncoder.encode(image, options: options)
    }
}
