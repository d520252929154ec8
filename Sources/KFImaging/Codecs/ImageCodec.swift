import Synchronization

/// A codec that a program adds: an image format that kf does not read, or only recognises.
///
/// After ``ImageCodecs/register(_:)``, files of the format are recognised, checked, stored, decoded, processed and
/// written as those of the built-in formats. The calls come on any thread, several at a time. The bytes are untrusted: a
/// codec checks every size and offset that it reads from them.
public protocol ImageCodec: Sendable {
    /// The format: `ImageFormat(rawValue: "qoi")!`, or one that kf only recognises, such as ``ImageFormat/heic``.
    var format: ImageFormat { get }
    /// The name of the format in messages; by default its name in capitals.
    var displayName: String { get }
    /// The usual extension of the format's files, without a dot: 1 to 8 lowercase letters and digits. By default the
    /// format's name.
    var fileExtension: String { get }
    /// Whether the format can store transparency; true by default.
    var supportsAlpha: Bool { get }
    /// Whether ``encode(_:options:)`` writes all frames of an animation; false by default.
    var supportsAnimation: Bool { get }
    /// Whether the codec has its own ``encode(_:options:)``; false by default.
    var isEncodable: Bool { get }

    /// Whether a file that begins with these bytes has this format; up to 4 KiB are given. kf's own formats are tried
    /// first, and what kf recognises as this format needs no word of the codec.
    func matches(_ head: UnsafeRawBufferPointer) -> Bool

    /// Reads the header. The first part of a file must be enough when it holds the header.
    ///
    /// - Throws: `truncated`, `corrupt`, `unsupported`.
    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo

    /// Finds truncation and damage without decoding; by default nothing. Files are checked before they are stored.
    ///
    /// - Throws: `truncated`, `corrupt`.
    func checkStructure(_ bytes: UnsafeRawBufferPointer) throws(ImagingError)

    /// Decodes an image, upright and with its frames composited, at the size that `probe` has found.
    ///
    /// `probe` has been called for these bytes, and its result is within the limits of the options. kf resamples,
    /// converts colours and drops frames afterwards, as the options ask. A codec may do so itself, for `firstFrameOnly`
    /// and for `minimumSize`. Bitmaps count against the memory limit; ``ImageCodecs/checkTime()`` enforces the time
    /// limit within a long decode.
    ///
    /// - Throws: `truncated`, `corrupt`, `unsupported`, and the errors of the limits.
    func decode(_ bytes: UnsafeRawBufferPointer, options: DecodeOptions) throws(ImagingError) -> Image

    /// Encodes an image. Without `supportsAnimation` it is a still one.
    ///
    /// - Throws: `encodingFailed`, and the errors of the limits; by default `unsupported`.
    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8]
}

extension ImageCodec {
    public var displayName: String { format.rawValue.uppercased() }
    public var fileExtension: String { format.rawValue }
    public var supportsAlpha: Bool { true }
    public var supportsAnimation: Bool { false }
    public var isEncodable: Bool { false }

    public func checkStructure(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {}

    public func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        throw .unsupported(format, feature: "encoding")
    }
}

/// The codecs that the program has added to kf's own.
public enum ImageCodecs {
    /// All codecs, once the program has added one.
    private static let table = Mutex<[any Codec]>([])
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
        let own = ImageFormat.ownCodecs.first { $0.format == format }
        if own?.reader != nil { throw .codecRefused(format, reason: "kf has its own") }
        try table.withLock { table throws(ImagingError) in
            if table.isEmpty { table = ImageFormat.ownCodecs }
            if let other = table.first(where: { $0.fileExtension == ending && $0.format != format }) {
                throw .codecRefused(format, reason: "its file extension '\(ending)' is that of \(other.displayName)")
            }
            let added = ProgramCodec(codec: codec, replaced: own)
            if let index = table.firstIndex(where: { $0.format == format }) {
                table[index] = added
            } else {
                table.append(added)
            }
        }
        isUsed.store(true, ordering: .releasing)
    }

    /// Throws `timeLimit` when the work on the current image has taken the time that the limits allow.
    public static func checkTime() throws(ImagingError) { try Allowance.current?.deadline.check() }

    /// kf's own codecs, each of them or the program's in the place of its format, then those of other formats.
    static var all: [any Codec] {
        isUsed.load(ordering: .acquiring) ? table.withLock { $0 } : ImageFormat.ownCodecs
    }
}

/// A program's codec in the table of codecs. It does what the options ask for and the codec has not done.
struct ProgramCodec: Codec, CodecReader, CodecWriter {
    let codec: any ImageCodec
    /// kf's own codec of the format, which recognises its files.
    let replaced: (any Codec)?

    var format: ImageFormat { codec.format }
    var displayName: String { codec.displayName }
    var fileExtension: String { codec.fileExtension }
    var supportsAlpha: Bool { codec.supportsAlpha }
    var supportsAnimation: Bool { codec.supportsAnimation }
    var writer: (any CodecWriter)? { codec.isEncodable ? self : nil }
    var decodesGray: Bool { true }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        codec.matches(head) || replaced?.matches(head) ?? false
    }

    func probe(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage) throws(ImagingError) -> ImageInfo {
        var info = try codec.probe(bytes)
        guard info.width > 0, info.height > 0, info.frames > 0 else {
            throw .corrupt(format, reason: "a picture of \(info.width)×\(info.height) pixels")
        }
        info.format = format
        return info
    }

    func checkStructure(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage
    ) throws(ImagingError) -> [ImageWarning] {
        try codec.checkStructure(bytes)
        return []
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        let info = try probe(bytes, passage: .silent)
        try options.limits.check(
            width: info.width, height: info.height, frames: options.firstFrameOnly ? 1 : info.frames)
        var image = try codec.decode(bytes, options: options)
        try ImageCodecs.checkTime()
        if options.firstFrameOnly, image.isAnimated { image = image.firstFrame }
        image.sourceFormat = format
        try options.limits.check(width: image.width, height: image.height, frames: image.frames.count)
        let plan = try DecodePlan(
            options, source: PixelSize(width: image.width, height: image.height),
            bytesPerPixel: image.bitmap.format.bytesPerPixel, frames: image.frames.count)
        if let exact = plan.exact {
            image = try image.mapBitmaps { (bitmap) throws(ImagingError) in try Resampler.resize(bitmap, to: exact) }
        }
        return try image.finished(options, each: change)
    }

    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        let image = supportsAnimation ? image : image.firstFrame
        if supportsAlpha { return try codec.encode(image, options: options) }
        let flat = try image.mapBitmaps { (bitmap) throws(ImagingError) in
            if bitmap.format.hasAlpha, options.background?.alpha != 255, !bitmap.isOpaque {
                throw .transparencyNeedsBackground(format)
            }
            return try bitmap.flattened(onto: options.background ?? .black)
        }
        return try codec.encode(flat, options: options)
    }
}
