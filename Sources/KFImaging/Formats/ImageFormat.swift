/// An image format that kf tells apart by its first bytes.
public enum ImageFormat: String, Sendable, CaseIterable {
    case png, jpeg, gif, webp, avif, heic, jxl, bmp, tiff, ico, svg

    /// The extension that files of this format carry, without a dot.
    public var fileExtension: String {
        self == .jpeg ? "jpg" : rawValue
    }

    /// The name as people write it, for messages.
    public var displayName: String {
        switch self {
        case .webp: "WebP"
        case .jxl: "JPEG XL"
        default: rawValue.uppercased()
        }
    }

    /// Whether ``ImageDecoder`` can read it.
    public var isDecodable: Bool {
        switch self {
        case .png, .jpeg, .gif, .webp: true
        default: false
        }
    }

    /// Whether ``ImageEncoder`` can write it.
    public var isEncodable: Bool {
        switch self {
        case .png, .jpeg, .gif, .webp: true
        default: false
        }
    }

    public var supportsAlpha: Bool {
        switch self {
        case .jpeg: false
        default: true
        }
    }

    public var supportsAnimation: Bool {
        switch self {
        case .gif, .webp, .avif, .heic, .jxl: true
        default: false
        }
    }
}
