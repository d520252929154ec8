/// GIF: read and written, animations too. Its pixels are opaque or fully transparent.
struct GIFCodec: PassCodec {
    var format: ImageFormat { .gif }
    var supportsAnimation: Bool { true }
    var isEncodable: Bool { true }
    var library: CodecLibrary? { .gif }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.holds("GIF8", at: 0) }

    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo {
        try GIFStructure(bytes).info
    }

    func inspect(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits, passage: ReadPassage
    ) throws(ImagingError) -> (info: ImageInfo, warnings: [ImageWarning]) {
        let structure = try GIFStructure(bytes, passage: passage)
        try limits.check(structure.info)
        if !structure.isComplete { throw .truncated(.gif) }
        if structure.frames == 0 { throw .corrupt(.gif, reason: "no frame") }
        return (structure.info, structure.warnings)
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        try requests.map { (options) throws(ImagingError) in
            try GIFDecoder.decode(bytes, options: options, each: change)
        }
    }
}
