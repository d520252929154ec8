/// GIF: read and written, animations too. Its pixels are opaque or fully transparent.
struct GIFCodec: StructuredCodec {
    typealias Structure = GIFStructure

    var format: ImageFormat { .gif }
    var supportsAnimation: Bool { true }
    var isEncodable: Bool { true }
    var library: CodecLibrary? { .gif }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.holds("GIF8", at: 0) }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        try requests.map { (options) throws(ImagingError) in
            try GIFDecoder.decode(bytes, options: options, each: change)
        }
    }
}
