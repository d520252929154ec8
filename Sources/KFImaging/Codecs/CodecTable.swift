extension ImageFormat {
    /// The codec of the format. This is the only place that maps formats to codecs.
    var codec: any Codec {
        switch self {
        case .png: PNGCodec()
        case .jpeg: JPEGCodec()
        case .gif: GIFCodec()
        case .webp: WebPCodec()
        case .avif: AVIFCodec()
        case .heic: HEICCodec()
        case .jxl: JPEGXLCodec()
        case .bmp: BMPCodec()
        case .tiff: TIFFCodec()
        case .ico: ICOCodec()
        case .svg: SVGCodec()
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

    /// Whether the format can store several frames that follow each other.
    public var supportsAnimation: Bool { codec.supportsAnimation }
}

extension ContentKind {
    /// Returns the kind of a file that begins with these bytes; 4 KiB are enough.
    package static func sniff(_ bytes: UnsafeRawBufferPointer) -> ContentKind {
        let head = UnsafeRawBufferPointer(rebasing: bytes.prefix(4096))
        if let format = ImageFormat.allCases.first(where: { $0.codec.matches(head) }) { return .image(format) }
        return Markup(head) == .html ? .html : .unknown
    }

    /// Returns the reader for a file.
    ///
    /// - Throws: `notAnImage`, and `unsupported` for a format that kf only recognises.
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
