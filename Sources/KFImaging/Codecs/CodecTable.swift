extension ImageFormat: CaseIterable {
    /// The codecs of kf's own, in the order in which they are tried on a file.
    static let ownCodecs: [any Codec] = [
        PNGCodec(), JPEGCodec(), GIFCodec(), WebPCodec(), AVIFCodec(), HEICCodec(), JPEGXLCodec(), BMPCodec(),
        TIFFCodec(), ICOCodec(), SVGCodec(),
    ]

    /// The formats that kf knows, then those that the program has registered.
    public static var allCases: [ImageFormat] { ImageCodecs.all.map(\.format) }

    /// The codec of the format.
    var codec: any Codec { ImageCodecs.all.first { $0.format == self } ?? NamedFormat(format: self) }

    /// Returns the format whose files have this extension, without a dot. One that no codec has is a format's name.
    package init?(fileExtension: String) {
        if let codec = ImageCodecs.all.first(where: { $0.fileExtension == fileExtension }) {
            self = codec.format
        } else {
            self.init(rawValue: fileExtension)
        }
    }

    /// The usual extension of the format's files, without a dot.
    public var fileExtension: String { codec.fileExtension }

    /// The name of the format in messages, such as `JPEG XL`.
    public var displayName: String { codec.displayName }

    /// Whether ``ImageDecoder`` can read the format.
    public var isDecodable: Bool { codec.reader != nil }

    /// Whether ``ImageEncoder`` can write the format.
    public var isEncodable: Bool { codec.writer != nil }

    /// Whether the format can store transparency.
    public var supportsAlpha: Bool { codec.supportsAlpha }

    /// Whether ``ImageDecoder`` returns all frames of an animation.
    public var readsAnimation: Bool { codec.reader?.readsAnimation ?? false }

    /// Whether a file that ``ImageEncoder`` writes can have several frames that follow each other.
    public var supportsAnimation: Bool { codec.supportsAnimation }
}

extension ImageFormat {
    /// The library that reads and writes the format; nil for code of kf's own and of a program. Loads it.
    package var library: CodecLibrary? { codec.library }
}

extension ContentKind {
    /// Returns the kind of a file that begins with these bytes; 4 KiB are enough.
    package static func sniff(_ bytes: UnsafeRawBufferPointer) -> ContentKind {
        let head = UnsafeRawBufferPointer(rebasing: bytes.prefix(4096))
        if let codec = ImageCodecs.all.first(where: { $0.matches(head) }) { return .image(codec.format) }
        return Markup(head) == .html ? .html : .unknown
    }

    /// Returns the reader for a file.
    ///
    /// - Throws: `notAnImage`, and `unsupported` for a format that is only recognised.
    static func reader(of bytes: UnsafeRawBufferPointer) throws(ImagingError) -> any CodecReader {
        switch sniff(bytes) {
        case .image(let format):
            guard let reader = format.codec.reader else { throw .unsupported(format, feature: "decoding") }
            return reader
        case let other: throw .notAnImage(other)
        }
    }
}

extension ArrivingImage {
    /// Nil for a kind of file that is only read when it is complete.
    package init?(_ kind: ContentKind) {
        guard case .image(let format) = kind, let reader = format.codec.reader?.arrivalReader() else { return nil }
        self.init(reader)
    }
}
