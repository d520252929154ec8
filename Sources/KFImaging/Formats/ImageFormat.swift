/// An image format that kf tells apart by its first bytes.
public enum ImageFormat: String, Sendable, CaseIterable {
    /// Read and written, with 8 or 16 bits a sample.
    case png
    /// Read and written; has no alpha.
    case jpeg
    /// Read and written, animations too.
    case gif
    /// Read and written, animations too.
    case webp
    /// Recognised only.
    case avif
    /// Recognised only.
    case heic
    /// Recognised only: JPEG XL.
    case jxl
    /// Recognised only.
    case bmp
    /// Recognised only.
    case tiff
    /// Recognised only.
    case ico
    /// Recognised only.
    case svg

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

    /// Whether the format knows transparency.
    public var supportsAlpha: Bool {
        switch self {
        case .jpeg: false
        default: true
        }
    }

    /// Whether the format knows several frames that follow each other.
    public var supportsAnimation: Bool {
        switch self {
        case .gif, .webp, .avif, .heic, .jxl: true
        default: false
        }
    }
}
