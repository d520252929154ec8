/// JPEG: read and written. The format has no alpha and no animation.
struct JPEGCodec: Codec, CodecReader, CodecWriter {
    var format: ImageFormat { .jpeg }
    var displayName: String { "JPEG" }
    var fileExtension: String { "jpg" }
    var supportsAlpha: Bool { false }
    var supportsAnimation: Bool { false }
    var library: CodecLibrary? { .jpeg }
    var decodesGray: Bool { true }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.starts(with: [0xFF, 0xD8, 0xFF]) }

    func probe(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage) throws(ImagingError) -> ImageInfo {
        let structure = try JPEGStructure(header: bytes)
        return ImageInfo(
            format: .jpeg, stored: (structure.width, structure.height), orientation: structure.orientation,
            colorModel: structure.components == 1 ? .gray : structure.components == 4 ? .cmyk : .rgb,
            bitDepth: structure.bitDepth)
    }

    func checkStructure(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage
    ) throws(ImagingError) -> [ImageWarning] {
        try JPEGStructure.check(bytes, passage: passage)
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        try JPEGDecoder.decode(bytes, [options])[0].finished(options, each: change)
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        try JPEGDecoder.check(bytes, limits: limits)
    }

    /// Sizes that libjpeg decodes at the same scale share a pass.
    func passes(
        over bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [[Int]] {
        let structure = try JPEGStructure(header: bytes)
        var groups: [Int: [Int]] = [:]
        for (index, size) in sizes.enumerated() {
            groups[try JPEGDecoder.numerator(structure, options.sized(size)), default: []].append(index)
        }
        return groups.sorted { $0.key > $1.key }.map(\.value)
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [Image] {
        try JPEGDecoder.decode(bytes, sizes.map(options.sized)).finished(options)
    }

    func arrivalReader() -> (any ArrivalReader)? { JPEGScanData() }

    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        try JPEGEncoder.encode(image, options: options)
    }
}
