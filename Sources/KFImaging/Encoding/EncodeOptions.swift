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
    public var chromaSubsampling: ChromaSubsampling
    /// zlib's 0 to 9, for PNG.
    public var compressionLevel: Int

    public init(
        quality: Int = 85, background: Color? = nil, progressive: Bool = false,
        chromaSubsampling: ChromaSubsampling = .half, compressionLevel: Int = 6
    ) {
        self.quality = quality
        self.background = background
        self.progressive = progressive
        self.chromaSubsampling = chromaSubsampling
        self.compressionLevel = compressionLevel
    }
}
