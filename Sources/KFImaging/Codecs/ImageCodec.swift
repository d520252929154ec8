/// One image format: its names, its properties, and how its files are recognised, checked, read and written.
///
/// kf's own formats conform to this protocol, and so do those that a program adds. After
/// ``ImageCodecs/register(_:)``, files of the format are recognised, checked, stored, decoded, processed and written as
/// those of the built-in formats. The calls come on any thread, several at a time. The bytes are untrusted: a codec
/// checks every size and offset that it reads from them.
///
/// A codec that reads needs `format`, `matches`, `probe` and `decode(_:options:)`. Everything else has a default.
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
    /// Whether all frames of an animation are decoded; by default as `supportsAnimation`.
    var readsAnimation: Bool { get }
    /// Whether the codec decodes; true by default. Files of other formats are stored and delivered as received.
    var isDecodable: Bool { get }
    /// Whether the codec has its own ``encode(_:options:)``; false by default.
    var isEncodable: Bool { get }
    /// The library that reads and writes the format; nil, the default, for the codec's own code.
    var library: CodecLibrary? { get }

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

    /// Reads the header, compares it with the limits and checks the structure; returns the facts and the faults that
    /// cost no pixel. By default it calls `probe` and `checkStructure`.
    ///
    /// A codec with a method of its own walks the bytes once, and reports to `passage` how far it has come.
    ///
    /// - Throws: `truncated`, `corrupt`, `unsupported`, and the errors of the limits.
    func inspect(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits, passage: ReadPassage
    ) throws(ImagingError) -> (info: ImageInfo, warnings: [ImageWarning])

    /// Decodes an image, upright and with its frames composited, at the size that `probe` has found.
    ///
    /// `probe` has been called for these bytes, and its result is within the limits of the options. kf resamples,
    /// converts colours and drops frames afterwards, as the options ask. A codec may do so itself, for `firstFrameOnly`
    /// and for `minimumSize`. Bitmaps count against the memory limit; ``ImageCodecs/checkTime()`` enforces the time
    /// limit within a long decode.
    ///
    /// - Throws: `truncated`, `corrupt`, `unsupported`, and the errors of the limits.
    func decode(_ bytes: UnsafeRawBufferPointer, options: DecodeOptions) throws(ImagingError) -> Image

    /// Decodes an image once for each request of one group of `passes`, does all that the options ask for, and applies
    /// `change` to every frame. By default it calls `decode(_:options:)` for each.
    ///
    /// A codec with a method of its own resamples and changes while it decodes, so that no picture of the full size is
    /// held.
    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image]

    /// Groups the indices of the requests so that one pass over the bytes can serve a group. By default each is alone.
    func passes(_ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions]) throws(ImagingError) -> [[Int]]

    /// Estimates the bytes that the decoder holds beside the result's pixels, also for a small result. By default 0, for
    /// one that decodes some rows at a time.
    func decoderBytes(_ info: ImageInfo) -> Double

    /// Decodes every frame to find damage, and returns the faults that cost no pixel. By default it decodes each frame
    /// to one pixel.
    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning]

    /// Encodes an image. Without `supportsAnimation` it is a still one, and without `supportsAlpha` an opaque one.
    ///
    /// - Throws: `encodingFailed`, and the errors of the limits; by default `unsupported`.
    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8]
}

/// A change that is applied to every composited frame before it is kept.
public typealias FrameChange = (Bitmap) throws(ImagingError) -> Bitmap

extension ImageCodec {
    public var displayName: String { format.rawValue.uppercased() }
    public var fileExtension: String { format.rawValue }
    public var supportsAlpha: Bool { true }
    public var supportsAnimation: Bool { false }
    public var readsAnimation: Bool { supportsAnimation }
    public var isDecodable: Bool { true }
    public var isEncodable: Bool { false }
    public var library: CodecLibrary? { nil }

    public func checkStructure(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {}

    public func inspect(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits, passage: ReadPassage
    ) throws(ImagingError) -> (info: ImageInfo, warnings: [ImageWarning]) {
        let info = try header(bytes)
        try limits.check(info)
        try checkStructure(bytes)
        return (info, [])
    }

    public func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        try requests.map { (options) throws(ImagingError) in
            let info = try header(bytes)
            try options.limits.check(info.size, frames: options.firstFrameOnly ? 1 : info.frames)
            var image = try decode(bytes, options: options)
            try ImageCodecs.checkTime()
            if options.firstFrameOnly, image.isAnimated { image = image.firstFrame }
            image.sourceFormat = format
            try options.limits.check(image.bitmap.size, frames: image.frames.count)
            let plan = try DecodePlan(
                options, source: image.bitmap.size, bytesPerPixel: image.bitmap.format.bytesPerPixel,
                frames: image.frames.count)
            if let exact = plan.exact {
                image = try image.mapBitmaps { (bitmap) throws(ImagingError) in
                    try Resampler.resize(bitmap, to: exact)
                }
            }
            return try image.finished(options, each: change)
        }
    }

    public func passes(_ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions]) throws(ImagingError) -> [[Int]] {
        requests.indices.map { [$0] }
    }

    public func decoderBytes(_ info: ImageInfo) -> Double { 0 }

    public func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        var options = DecodeOptions(limits: limits)
        options.limits.scaleDownBytes = nil
        // One pixel in place of each frame, so that the frames are not kept.
        let dot = try Bitmap(width: 1, height: 1, format: .gray)
        return try decode(bytes, for: [options], each: { _ in dot })[0].warnings
    }

    public func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        throw .unsupported(format, feature: "encoding")
    }

    /// Reads the header. That of a program's codec may state an impossible picture.
    func header(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo {
        var info = try probe(bytes)
        guard info.width > 0, info.height > 0, info.frames > 0 else {
            throw .corrupt(format, reason: "a picture of \(info.width)×\(info.height) pixels")
        }
        info.format = format
        return info
    }
}

/// A codec of kf's own, which decodes for several requests in one pass.
protocol PassCodec: ImageCodec {}

extension PassCodec {
    func decode(_ bytes: UnsafeRawBufferPointer, options: DecodeOptions) throws(ImagingError) -> Image {
        try decode(bytes, for: [options], each: nil)[0]
    }
}

/// The structure of a file, read without decoding.
protocol FileStructure {
    /// Reads the structure as far as the bytes reach.
    init(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage) throws(ImagingError)

    var info: ImageInfo { get }

    /// Returns the faults that cost no pixel.
    ///
    /// - Throws: `truncated`, `corrupt`.
    func check() throws(ImagingError) -> [ImageWarning]
}

/// A codec that checks a file by one walk over its structure.
protocol StructuredCodec: PassCodec {
    associatedtype Structure: FileStructure
}

extension StructuredCodec {
    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo {
        try Structure(bytes, passage: .silent).info
    }

    func inspect(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits, passage: ReadPassage
    ) throws(ImagingError) -> (info: ImageInfo, warnings: [ImageWarning]) {
        let structure = try Structure(bytes, passage: passage)
        let info = structure.info
        try limits.check(info)
        return (info, try structure.check())
    }
}

extension [Image] {
    /// Each image finished as its request asks.
    func finished(_ requests: [DecodeOptions], each change: FrameChange?) throws(ImagingError) -> [Image] {
        try zip(self, requests).map { (image, options) throws(ImagingError) in
            try image.finished(options, each: change)
        }
    }
}

extension Image {
    /// Makes an image of a still picture as stored, which is turned upright. A grey one with a profile of RGB becomes RGB.
    init(
        stored picture: Bitmap, _ format: ImageFormat, _ orientation: Orientation, profile: [UInt8]?,
        metadata: ImageMetadata?, warnings: [ImageWarning] = []
    ) throws(ImagingError) {
        let profile = ICCProfile.describing(profile, picture.format)
        let describes = ICCProfile.fitting(profile, picture.format) == profile
        let picture = describes ? picture : try picture.expanded(color: true, alpha: false)
        self.init(try picture.oriented(orientation), sourceFormat: format, iccProfile: profile)
        self.metadata = metadata
        self.warnings = warnings
    }

    /// The image converted to sRGB where the options ask for it, then with `change` applied to every frame.
    func finished(_ options: DecodeOptions, each change: FrameChange?) throws(ImagingError) -> Image {
        let image = options.convertsToSRGB ? try convertedToSRGB() : self
        guard let change else { return image }
        return try image.mapBitmaps(change)
    }
}
