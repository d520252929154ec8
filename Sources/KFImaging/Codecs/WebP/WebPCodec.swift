/// WebP: read and written, lossy or lossless, animations too.
struct WebPCodec: StructuredCodec {
    typealias Structure = WebPStructure

    var format: ImageFormat { .webp }
    var displayName: String { "WebP" }
    var supportsAnimation: Bool { true }
    var isEncodable: Bool { true }
    var library: CodecLibrary? { .webp }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.holds("RIFF", at: 0) && head.holds("WEBP", at: 8) }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        try requests.map { (options) throws(ImagingError) in
            try WebPDecoder.decode(bytes, options: options, each: change)
        }
    }
}
