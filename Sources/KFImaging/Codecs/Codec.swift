/// One image format: its names, its properties, and how kf recognises, reads and writes its files.
///
/// `ImageCodecs.all` is the table of all codecs. A new format takes a name in `ImageFormat`, a type that conforms
/// to this protocol, and a place in that table. A program's own formats come by ``ImageCodec``.
protocol Codec: Sendable {
    var format: ImageFormat { get }
    /// The name of the format in messages.
    var displayName: String { get }
    /// The usual extension of the format's files, without a dot.
    var fileExtension: String { get }
    /// Whether the format can store transparency.
    var supportsAlpha: Bool { get }
    /// Whether the writer writes several frames that follow each other.
    var supportsAnimation: Bool { get }
    /// The library that reads and writes the format, with its version; nil for kf's own code.
    var library: CodecLibrary? { get }
    /// Whether a file that begins with these bytes has this format; up to 4 KiB are given.
    func matches(_ head: UnsafeRawBufferPointer) -> Bool
    /// Reads the format; nil for a format that kf only recognises.
    var reader: (any CodecReader)? { get }
    /// Writes the format; nil for a format that kf cannot write.
    var writer: (any CodecWriter)? { get }
}

/// Reads the files of one format. The bytes begin as the codec's `matches` demands.
protocol CodecReader: Sendable {
    /// Whether all frames of an animation are decoded.
    var readsAnimation: Bool { get }
    /// Whether a grey file is decoded to grey pixels; false for a decoder whose pixels are always coloured.
    var decodesGray: Bool { get }

    /// Reads the header; the caller checks the limits.
    func probe(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage) throws(ImagingError) -> ImageInfo

    /// Finds truncation and damage without decoding, and returns the faults that cost no pixel.
    func checkStructure(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage) throws(ImagingError) -> [ImageWarning]

    /// Decodes an image, upright, in sRGB where the options ask for it, with `change` applied to every frame.
    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image

    /// Decodes every frame and keeps none.
    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning]

    /// Groups the indices of `sizes` so that one pass over the bytes can make all sizes of a group.
    func passes(
        over bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [[Int]]

    /// Decodes one group of `passes`. Each image equals what `decode` makes for its size alone.
    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [Image]

    /// The bytes that the decoder holds beside the result's pixels, also for a small result; 0 for one that decodes some
    /// rows at a time.
    func heldBytes(_ info: ImageInfo) -> Double

    /// Makes a reader for the bytes of a file that is still arriving; nil when the format gains nothing by it.
    func arrivalReader() -> (any ArrivalReader)?
}

/// Writes the files of one format.
protocol CodecWriter: Sendable {
    /// Encodes an image whose colours have been converted where the options ask for it.
    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8]
}

extension Codec {
    var library: CodecLibrary? { nil }
    var reader: (any CodecReader)? { nil }
    var writer: (any CodecWriter)? { nil }
}

extension Codec where Self: CodecReader {
    var reader: (any CodecReader)? { self }
}

extension Codec where Self: CodecWriter {
    var writer: (any CodecWriter)? { self }
}

extension CodecReader where Self: Codec {
    var readsAnimation: Bool { supportsAnimation }
}

extension CodecReader {
    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        var options = DecodeOptions(limits: limits)
        options.limits.scaleDownBytes = nil
        // One pixel in place of each frame, so that the frames are not kept.
        let dot = try Bitmap(width: 1, height: 1, format: .gray)
        return try decode(bytes, options: options, each: { _ in dot }).warnings
    }

    func passes(
        over bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [[Int]] {
        sizes.indices.map { [$0] }
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [Image] {
        var images: [Image] = []
        for size in sizes { images.append(try decode(bytes, options: options.sized(size), each: nil)) }
        return images
    }

    func heldBytes(_ info: ImageInfo) -> Double { 0 }

    func arrivalReader() -> (any ArrivalReader)? { nil }
}

extension [Image] {
    /// Each image finished alone.
    func finished(_ options: DecodeOptions) throws(ImagingError) -> [Image] {
        try map { (image) throws(ImagingError) in try image.finished(options) }
    }
}

extension Image {
    /// The image converted to sRGB where the options ask for it, then with `change` applied to every frame.
    func finished(_ options: DecodeOptions, each change: FrameChange? = nil) throws(ImagingError) -> Image {
        let image = options.convertsToSRGB ? try convertedToSRGB() : self
        guard let change else { return image }
        return try image.mapBitmaps(change)
    }
}
