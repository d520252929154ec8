/// A codec whose format this process does not decode, by ``ImageCodecs/decode(only:)``.
struct UndecodedFormat: ImageCodec {
    private let codec: any ImageCodec

    init(_ codec: any ImageCodec) { self.codec = codec }

    var format: ImageFormat { codec.format }
    var displayName: String { codec.displayName }
    var fileExtension: String { codec.fileExtension }
    var supportsAlpha: Bool { codec.supportsAlpha }
    var supportsAnimation: Bool { codec.supportsAnimation }
    var isDecodable: Bool { false }
    var isEncodable: Bool { codec.isEncodable }
    var library: CodecLibrary? { codec.library }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { codec.matches(head) }

    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo { try codec.probe(bytes) }

    func decode(_ bytes: UnsafeRawBufferPointer, options: DecodeOptions) throws(ImagingError) -> Image {
        throw .unsupported(format, feature: "decoding")
    }

    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        try codec.encode(image, options: options)
    }
}
