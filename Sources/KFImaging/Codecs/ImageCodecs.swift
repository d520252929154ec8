import Synchronization

/// The table of codecs: kf's own, and those that the program has added.
public enum ImageCodecs {
    /// kf's own codecs, in the order in which they are tried on a file.
    static let own: [any ImageCodec] = [
        PNGCodec(), JPEGCodec(), GIFCodec(), WebPCodec(), AVIFCodec(), HEICCodec(), JXLCodec(),
        BMPCodec(), TIFFCodec(), RecognizedFormat.jpeg2000, ICOCodec(), RecognizedFormat.svg,
    ]

    private struct Table {
        var codecs = own
        /// The formats that are not decoded, whatever their codecs can do.
        var undecoded: Set<ImageFormat> = []
    }

    /// The codecs after the program's changes. Read only when `isUsed` is set.
    private static let table = Mutex(Table())
    private static let isUsed = Atomic(false)

    /// Adds a codec for the whole process, in place of an earlier one of the same format. Call it before the first image
    /// is fetched: until then, files of the format are refused as no images.
    ///
    /// - Throws: `codecRefused` for a format that kf itself reads, and for a file extension that is not one or that
    ///   another format has.
    public static func register(_ codec: any ImageCodec) throws(ImagingError) {
        let (format, ending) = (codec.format, codec.fileExtension)
        guard ending.utf8.count <= 8, ImageFormat(rawValue: ending) != nil, ending != "bin" else {
            throw .codecRefused(format, reason: "'\(ending)' cannot be its file extension")
        }
        if own.contains(where: { $0.format == format && $0.isDecodable }) {
            throw .codecRefused(format, reason: "kf has its own")
        }
        try table.withLock { table throws(ImagingError) in
            if let other = table.codecs.first(where: { $0.fileExtension == ending && $0.format != format }) {
                throw .codecRefused(format, reason: "its file extension '\(ending)' is that of \(other.displayName)")
            }
            if let index = table.codecs.firstIndex(where: { $0.format == format }) {
                table.codecs[index] = codec
            } else {
                table.codecs.append(codec)
            }
            table.undecoded.remove(format)
        }
        isUsed.store(true, ordering: .releasing)
    }

    /// Decodes only these formats from now on, for the whole process: files of others are recognised, stored and delivered
    /// as received, and written as before. Call it before the first image is fetched; a later call can only narrow the
    /// choice.
    public static func decode(only formats: Set<ImageFormat>) {
        table.withLock { table in
            for codec in table.codecs where !formats.contains(codec.format) { table.undecoded.insert(codec.format) }
        }
        isUsed.store(true, ordering: .releasing)
    }

    /// Throws `timeLimit` when the work on the current image has taken the time that the limits allow.
    public static func checkTime() throws(ImagingError) { try Allowance.current?.deadline.check() }

    /// kf's own codecs, each of them or the program's in the place of its format, then those of other formats.
    static var all: [any ImageCodec] {
        isUsed.load(ordering: .acquiring) ? table.withLock { $0.codecs } : own
    }

    /// Whether the process decodes files with this codec.
    static func decodes(_ codec: any ImageCodec) -> Bool {
        guard codec.isDecodable, isUsed.load(ordering: .acquiring) else { return codec.isDecodable }
        return table.withLock { !$0.undecoded.contains(codec.format) }
    }

    /// Returns the codec for a file that begins with these bytes; nil for one that is not an image of a known format.
    package static func codec(for bytes: UnsafeRawBufferPointer) -> (any ImageCodec)? {
        let head = UnsafeRawBufferPointer(rebasing: bytes.prefix(4096))
        let recognized = own.first { $0.matches(head) }
        guard isUsed.load(ordering: .acquiring) else { return recognized }
        return recognized?.format.codec ?? all.first { $0.matches(head) }
    }

    /// Returns the codec that decodes a file.
    ///
    /// - Throws: `notAnImage`, and `unsupported` for a format that is only recognised.
    static func decoder(of bytes: UnsafeRawBufferPointer) throws(ImagingError) -> any ImageCodec {
        guard let codec = codec(for: bytes) else { throw .notAnImage(ContentKind.sniff(bytes)) }
        guard decodes(codec) else { throw .unsupported(codec.format, feature: "decoding") }
        return codec
    }
}

extension ImageFormat: CaseIterable {
    /// The formats that kf knows, then those that the program has registered.
    public static var allCases: [ImageFormat] { ImageCodecs.all.map(\.format) }

    var codec: any ImageCodec { ImageCodecs.all.first { $0.format == self } ?? RecognizedFormat(self) }

    /// Returns the format whose files have this extension, without a dot. One that no codec has is a format's name.
    package init?(fileExtension: String) {
        if let codec = ImageCodecs.all.first(where: { $0.fileExtension == fileExtension }) {
            self = codec.format
        } else {
            self.init(rawValue: fileExtension)
        }
    }

    /// Other endings of the names of files than the formats' own.
    private static let otherEndings: [String: ImageFormat] = [
        "apng": .png, "jpe": .jpeg, "jfif": .jpeg, "heif": .heic, "hif": .heic, "dib": .bmp, "tif": .tiff,
    ]

    /// Creates the format that the ending of a file's name stands for, without a dot and in upper or lower case; nil for
    /// the ending of no image.
    package init?(ending: String) {
        let ending = ending.lowercased()
        let own = Self.allCases.first { $0.fileExtension == ending || $0.rawValue == ending }
        guard let format = own ?? Self.otherEndings[ending] else { return nil }
        self = format
    }

    /// The usual extension of the format's files, without a dot.
    public var fileExtension: String { codec.fileExtension }

    /// The name of the format in messages, such as `JPEG XL`.
    public var displayName: String { codec.displayName }

    /// Whether ``ImageDecoder`` can read the format.
    public var isDecodable: Bool { ImageCodecs.decodes(codec) }

    /// Whether ``ImageEncoder`` can write the format.
    public var isEncodable: Bool { codec.isEncodable }

    /// Whether the format can store transparency.
    public var supportsAlpha: Bool { codec.supportsAlpha }

    /// Whether ``ImageDecoder`` returns all frames of an animation.
    public var readsAnimation: Bool { isDecodable && codec.readsAnimation }

    /// Whether a file that ``ImageEncoder`` writes can have several frames that follow each other.
    public var supportsAnimation: Bool { codec.supportsAnimation }

    /// The library that reads and writes the format; nil for code of kf's own. Loads it.
    package var library: CodecLibrary? { codec.library }
}

extension ContentKind {
    /// Returns the kind of a file that begins with these bytes; 4 KiB are enough.
    package static func sniff(_ bytes: UnsafeRawBufferPointer) -> ContentKind {
        if let codec = ImageCodecs.codec(for: bytes) { return .image(codec.format) }
        return Markup(UnsafeRawBufferPointer(rebasing: bytes.prefix(4096))) == .html ? .html : .unknown
    }
}
