import KFImaging

/// How an image becomes the bytes that are stored, and how those become an image. Kingfisher's `CacheSerializer`.
///
/// An image that no processor touched and no serializer converts is stored and given out byte for byte as it came.
///
/// A serializer that encrypts has an identifier and keeps no format. Then it gets every image, the unprocessed ones too,
/// and the cache has only what it gives. ``KingfisherOptions/cacheOriginalImage`` would store the original in the clear,
/// and large bodies are in a temporary file while they come.
public protocol CacheSerializer: Sendable {
    /// The last step of the cache key; empty for the default.
    var identifier: String { get }
    /// Whether bytes of this format are what the serializer wants, just as they are. By default none are.
    func keeps(_ format: ImageFormat) -> Bool
    /// The bytes and their format. `original` is the format that the image came in.
    func data(for image: Image, original: ImageFormat?) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat)
    /// The image of bytes that `data(for:original:)` gave, or that the serializer keeps as they are. By default they are
    /// decoded as an image file.
    func image(with data: [UInt8], options: DecodeOptions) throws(ImagingError) -> Image
}

extension CacheSerializer {
    public func keeps(_ format: ImageFormat) -> Bool { false }

    public func image(with data: [UInt8], options: DecodeOptions) throws(ImagingError) -> Image {
        try ImageDecoder.decode(data, options: options)
    }
}

/// Keeps the original's format where kf can write it and the pixels fit into it, else PNG.
public struct DefaultCacheSerializer: CacheSerializer {
    /// The default options.
    public static let `default` = DefaultCacheSerializer()

    /// How it is encoded.
    public var options: EncodeOptions
    /// Leaves unprocessed images as they came, whatever the options say. With the default options they are left anyway.
    public var preferCacheOriginalData = false

    /// Encodes with these options; the defaults leave unprocessed images as they came.
    public init(options: EncodeOptions = EncodeOptions()) { self.options = options }

    public var identifier: String {
        guard options != EncodeOptions() else { return "" }
        return EncodingIdentifier.text(format: "keep", options) + (preferCacheOriginalData ? ",original=1" : "")
    }

    /// Images are not encoded again, unless another quality was asked for.
    public func keeps(_ format: ImageFormat) -> Bool { preferCacheOriginalData || options.keepsBytes(of: format) }

    public func data(
        for image: Image, original: ImageFormat?
    ) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat) {
        var format = original ?? .png
        // Corners that were cut out of a JPEG stay cut out, unless there is something to put behind them.
        let losesAlpha =
            !format.supportsAlpha && options.background == nil && image.frames.contains { !$0.bitmap.isOpaque }
        if !format.isEncodable || losesAlpha { format = .png }
        return (try ImageEncoder.encode(image, as: format, options: options), format)
    }
}

/// Writes one format. Kingfisher's `FormatIndicatedCacheSerializer`.
public struct FormatIndicatedCacheSerializer: CacheSerializer {
    /// PNG.
    public static let png = FormatIndicatedCacheSerializer(format: .png)
    /// JPEG of the default quality.
    public static let jpeg = FormatIndicatedCacheSerializer(format: .jpeg)
    /// GIF, animated where the image is.
    public static let gif = FormatIndicatedCacheSerializer(format: .gif)

    /// What it writes.
    public let format: ImageFormat
    /// How it is encoded.
    public let options: EncodeOptions

    /// `format` must be one that kf can write.
    public init(format: ImageFormat, options: EncodeOptions = EncodeOptions()) {
        self.format = format
        self.options = options
    }

    public var identifier: String { EncodingIdentifier.text(format: format.rawValue, options) }

    public func keeps(_ format: ImageFormat) -> Bool { format == self.format && options.keepsBytes(of: format) }

    public func data(
        for image: Image, original: ImageFormat?
    ) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat) {
        (try ImageEncoder.encode(image, as: format, options: options), format)
    }
}

/// The last step of a cache key, when an image is not encoded as by default.
enum EncodingIdentifier {
    /// `encode:jpeg,quality=85`: the format, the quality where it has one, and what differs from the default.
    static func text(format: String, _ options: EncodeOptions) -> String {
        let usual = EncodeOptions()
        var parts = ["encode:\(format)"]
        func add(_ name: String, _ value: String, if isUnusual: Bool) {
            if isUnusual { parts.append("\(name)=\(value)") }
        }
        let hasQuality = format != ImageFormat.png.rawValue && format != ImageFormat.gif.rawValue
        add("quality", "\(options.quality)", if: hasQuality)
        if let background = options.background { parts.append("background=\(background.hexadecimal)") }
        add("progressive", "1", if: options.progressive)
        add("chroma", options.chromaSubsampling.rawValue, if: options.chromaSubsampling != usual.chromaSubsampling)
        add("level", "\(options.compressionLevel)", if: options.compressionLevel != usual.compressionLevel)
        add("lossless", "1", if: options.lossless)
        add("effort", "\(options.effort)", if: options.effort != usual.effort)
        add("srgb", "1", if: options.convertsToSRGB)
        add("metadata", "1", if: options.keepsMetadata)
        return parts.joined(separator: ",")
    }
}

extension EncodeOptions {
    /// Whether bytes of this format need not be encoded again to be what these options ask for. What is only about
    /// encoding (a background, metadata that is kept) asks for nothing of bytes that stay as they are.
    func keepsBytes(of format: ImageFormat) -> Bool {
        var asked = self
        asked.background = nil
        asked.keepsMetadata = false
        guard asked != EncodeOptions() else { return true }
        if asked.convertsToSRGB { return false }
        // The others of these options say nothing of lossless formats that a reader could see.
        return format == .png || format == .gif
    }
}
