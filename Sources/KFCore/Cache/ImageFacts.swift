import KFImaging

/// What a result says about its image without decoding it.
public struct ImageFacts: Sendable, Equatable {
    /// Sniffed from the bytes; what a server called it does not matter.
    public let format: ImageFormat
    /// In pixels, upright; nil for formats that kf cannot read.
    public let width: Int?
    /// In pixels, upright; nil for formats that kf cannot read.
    public let height: Int?
    /// 1 for a still image; nil for formats that kf cannot read.
    public let frames: Int?
    /// Of the encoded image.
    public let bytes: Int64
    /// Of the encoded image, 64 hexadecimal digits.
    public let sha256: String?

    /// Whether kf can make pixels of it. What it cannot is stored and given out as it came.
    public var isDecodable: Bool { format.isDecodable }
}
