/// WebP: read and written, lossy or lossless, animations too.
struct WebPCodec: PassCodec {
    var format: ImageFormat { .webp }
    var displayName: String { "WebP" }
    var supportsAnimation: Bool { true }
    var isEncodable: Bool { true }
    var library: CodecLibrary? { .webp }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.holds("RIFF", at: 0) && head.holds("WEBP", at: 8) }

    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo {
        try WebPStructure(bytes).info
    }

    func inspect(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits, passage: ReadPassage
    ) throws(ImagingError) -> (info: ImageInfo, warnings: [ImageWarning]) {
        let structure = try WebPStructure(bytes)
        try limits.check(structure.info)
        if !structure.isComplete { throw .truncated(.webp) }
        if structure.frames.isEmpty { throw .corrupt(.webp, reason: "no picture") }
        return (structure.info, [])
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        try requests.map { (options) throws(ImagingError) in
            try WebPDecoder.decode(bytes, options: options, each: change)
        }
    }
}
