/// How an image is encoded. A format ignores the options that it has no use for.
public struct EncodeOptions: Sendable, Equatable {
    /// The resolution of the chroma of a JPEG or AVIF relative to its luma.
    public enum ChromaSubsampling: String, Sendable {
        /// Half in both directions (4:2:0).
        case half = "4:2:0"
        /// Full resolution (4:4:4).
        case none = "4:4:4"
    }

    /// The quality of lossy formats, from 1 to 100; values outside are clamped. Nil is 85, and 60 for AVIF, whose scale
    /// is another: the files have about the same quality.
    public var quality: Int?
    /// The qualities of formats that have one of their own.
    public var qualities: [ImageFormat: Int] = [:]
    /// The colour behind transparent pixels when the format cannot store them.
    public var background: Color?
    /// Whether a JPEG is progressive.
    public var progressive: Bool
    /// The chroma subsampling of a JPEG or AVIF. A lossless AVIF always has full resolution.
    public var chromaSubsampling: ChromaSubsampling
    /// The zlib level of a PNG, from 0 to 9.
    public var compressionLevel: Int
    /// Whether a WebP or AVIF is lossless; its quality is then ignored. An AVIF keeps 12 of 16 bits a sample.
    public var lossless: Bool
    /// The effort for a WebP, from 0 (fast) to 6 (small).
    public var effort: Int
    /// The speed of the encoder for an AVIF, from 0 (slow, small) to 10 (fast).
    public var speed: Int
    /// Whether the pixels are converted to sRGB, in place of carrying the profile. Needs lcms2; see
    /// ``Image/convertedToSRGB()``.
    public var convertsToSRGB: Bool
    /// Whether EXIF and XMP are written. GIF cannot store them. A file that is only copied keeps all that it has.
    public var keepsMetadata: Bool
    /// Whether a file that would only be copied loses its metadata: EXIF, XMP, IPTC and comments, of a JPEG, PNG, WebP or
    /// GIF. Its pixels and its profile stay as they are.
    public var stripsMetadata: Bool
    /// The format that is written in place of one that cannot store the transparency of an image, where there is no
    /// background; nil refuses such an image.
    public var transparentFormat: ImageFormat?
    /// Whether an image that kf cannot decode is kept as it was received, where processors or another format are asked for.
    public var copiesUndecoded = false

    /// The defaults are those of the command line.
    public init(
        quality: Int? = nil, background: Color? = nil, progressive: Bool = false,
        chromaSubsampling: ChromaSubsampling = .half, compressionLevel: Int = 6, lossless: Bool = false,
        effort: Int = 4, speed: Int = 6, convertsToSRGB: Bool = false, keepsMetadata: Bool = false,
        stripsMetadata: Bool = false
    ) {
        self.quality = quality
        self.background = background
        self.progressive = progressive
        self.chromaSubsampling = chromaSubsampling
        self.compressionLevel = compressionLevel
        self.lossless = lossless
        self.effort = effort
        self.speed = speed
        self.convertsToSRGB = convertsToSRGB
        self.keepsMetadata = keepsMetadata
        self.stripsMetadata = stripsMetadata
    }
}

extension EncodeOptions {
    /// The quality for a format, from 1 to 100.
    package func quality(of format: ImageFormat) -> Int {
        min(max(qualities[format] ?? quality ?? EncodeOptions.usualQuality(of: format), 1), 100)
    }

    /// The options for one format, whose quality is the only one, without a background and a speed that it has no use for.
    package func only(_ format: ImageFormat) -> EncodeOptions {
        var options = self
        // The pixels of a GIF are opaque or clear, so that it needs a background like a JPEG.
        if format != .jpeg, format != .gif { options.background = nil }
        if format != .avif { options.speed = EncodeOptions().speed }
        options.quality = qualities[format] ?? quality
        options.qualities = [:]
        if format.supportsAlpha || background != nil { options.transparentFormat = nil }
        return options
    }

    /// The quality for a format that nothing else is asked for.
    package static func usualQuality(of format: ImageFormat) -> Int { format == .avif ? 60 : 85 }
}
