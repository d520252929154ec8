import KFImaging

/// What a result says about its image without decoding it.
public struct ImageFacts: Sendable, Equatable {
    public let format: ImageFormat
    /// In pixels, upright; nil for formats that kf cannot read.
    public let width: Int?
    public let height: Int?
    public let frames: Int?
    /// Of the encoded image.
    public let bytes: Int64
    /// Of the encoded image, 64 hexadecimal digits.
    public let sha256: String?

    public var isDecodable: Bool { format.isDecodable }
}
