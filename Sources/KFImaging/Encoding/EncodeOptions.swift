/// How an image is to be written. What a format does not know, it ignores.
public struct EncodeOptions: Sendable, Equatable {
    /// How finely a JPEG's colours are sampled beside its brightness.
    public enum ChromaSubsampling: String, Sendable {
        /// Half in both directions, 4:2:0.
        case half = "4:2:0"
        /// As finely, 4:4:4.
        case none = "4:4:4"
    }

    /// 1 to 100, for the lossy formats; values outside are taken as the nearest.
    public var quality: Int
    /// What is put behind transparent pixels where the format has no transparency.
    public var background: Color?
    /// Write a JPEG in scans that refine it.
    public var progressive: Bool
    /// How finely a JPEG keeps colour.
    public var chromaSubsampling: ChromaSubsampling
    /// zlib's 0 to 9, for PNG.
    public var compressionLevel: Int
    /// Write a WebP without loss; the quality then has no say.
    public var lossless: Bool
    /// 0 fast to 6 small, for WebP.
    public var effort: Int
    /// Convert to sRGB by the image's profile, instead of carrying the profile. Needs lcms2; see
    /// ``Image/convertedToSRGB()``.
    public var convertsToSRGB: Bool
    /// Write the image's EXIF and XMP, where the format has a place for them. GIF has none.
    public var keepsMetadata: Bool

    /// Of each format those count that mean something there.
    public init(
        quality: Int = 85, background: Color? = nil, progressive: Bool = false,
        chromaSubsampling: ChromaSubsampling = .half, compressionLevel: Int = 6, lossless: Bool = false,
        effort: Int = 4, convertsToSRGB: Bool = false, keepsMetadata: Bool = false
    ) {
        self.quality = quality
        self.background = background
        self.progressive = progressive
        self.chromaSubsampling = chromaSubsampling
        self.compressionLevel = compressionLevel
        self.lossless = lossless
        self.effort = effort
        self.convertsToSRGB = convertsToSRGB
        self.keepsMetadata = keepsMetadata
    }
}
