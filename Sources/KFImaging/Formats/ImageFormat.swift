/// An image format, by its name: one that kf knows, one that a program has registered, or one that is only named.
///
/// A cache may hold images of a format that another program has registered. Here, such a format has a name, is stored
/// and delivered as received, and is neither recognised nor read.
public struct ImageFormat: RawRepresentable, Hashable, Sendable {
    /// The name, such as `jpeg`: 1 to 16 lowercase ASCII letters and digits.
    public let rawValue: String

    /// Names a format; nil for a text that is not a name.
    public init?(rawValue: String) {
        guard 1...16 ~= rawValue.utf8.count, rawValue.utf8.allSatisfy(Self.isInName) else { return nil }
        self.rawValue = rawValue
    }

    /// A literal of up to 15 bytes is a constant in two registers, so that naming a format costs nothing.
    private init(_ name: String) { rawValue = name }

    private static func isInName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x61...0x7A: true
        default: false
        }
    }
}

/// The formats that kf knows. `kf help formats` has a table of what is read and written.
extension ImageFormat {
    /// Read and written, with 8 or 16 bits a sample. Animations (APNG) are read, and not written.
    public static var png: ImageFormat { ImageFormat("png") }
    /// Read and written; without alpha.
    public static var jpeg: ImageFormat { ImageFormat("jpeg") }
    /// Read and written, animations too.
    public static var gif: ImageFormat { ImageFormat("gif") }
    /// Read and written, animations too.
    public static var webp: ImageFormat { ImageFormat("webp") }
    /// Read and written, animations too, with 8 bits a sample or more. Needs libavif, which is loaded on first use.
    public static var avif: ImageFormat { ImageFormat("avif") }
    /// Read only: the primary picture. Needs libheif, which is loaded on first use.
    public static var heic: ImageFormat { ImageFormat("heic") }
    /// JPEG XL; read only, animations too. Needs libjxl, which is loaded on first use.
    public static var jxl: ImageFormat { ImageFormat("jxl") }
    /// Read only.
    public static var bmp: ImageFormat { ImageFormat("bmp") }
    /// Read only: the first page. Needs libtiff, which is loaded on first use.
    public static var tiff: ImageFormat { ImageFormat("tiff") }
    /// Read only: the largest picture in the file.
    public static var ico: ImageFormat { ImageFormat("ico") }
    /// JPEG 2000; recognised only.
    public static var jp2: ImageFormat { ImageFormat("jp2") }
    /// Recognised only.
    public static var svg: ImageFormat { ImageFormat("svg") }
}

extension ImageFormat: CustomStringConvertible {
    /// The name.
    public var description: String { rawValue }
}

/// The kind of a file, recognised by its first bytes.
public enum ContentKind: Sendable, Equatable {
    /// An image of a known format.
    case image(ImageFormat)
    /// A web page.
    case html
    /// Any other file.
    case unknown
}
