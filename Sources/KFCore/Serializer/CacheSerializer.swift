/// How a processed image becomes the bytes that are stored. Kingfisher's `CacheSerializer`.
///
/// An image that no processor touched and no serializer converts is stored and given out byte for byte as it came.
public protocol CacheSerializer: Sendable {
    /// The last step of the cache key; empty for the default.
    var identifier: String { get }
    /// Whether bytes of this format are what the serializer wants, just as they are. By default none are.
    func keeps(_ format: ImageFormat) -> Bool
    /// The bytes and their format. `original` is the format that the image came in.
    func data(for image: Image, original: ImageFormat?) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat)
}

extension CacheSerializer {
    public func keeps(_ format: ImageFormat) -> Bool { false }
}

/// Keeps the original's format where kf can write it and the pixels fit into it, else PNG.
public struct DefaultCacheSerializer: CacheSerializer {
    /// How it is encoded.
    public let options: EncodeOptions

    /// Encodes with these options; the defaults leave unprocessed images as they came.
    public init(options: EncodeOptions = EncodeOptions()) { self.options = options }

    public var identifier: String {
        options == EncodeOptions() ? "" : EncodingIdentifier.text(format: "keep", options)
    }

    /// Images are not encoded again, unless another quality was asked for.
    public func keeps(_ format: ImageFormat) -> Bool { options.keepsBytes(of: format) }

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
