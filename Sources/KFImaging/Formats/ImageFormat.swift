/// An image format that kf recognises by a file's first bytes.
public enum ImageFormat: String, Sendable, CaseIterable {
    /// Read and written, with 8 or 16 bits a sample. Animations (APNG) are read, and not written.
    case png
    /// Read and written; without alpha.
    case jpeg
    /// Read and written, animations too.
    case gif
    /// Read and written, animations too.
    case webp
    /// Recognised only.
    case avif
    /// Recognised only.
    case heic
    /// JPEG XL; recognised only.
    case jxl
    /// Recognised only.
    case bmp
    /// Recognised only.
    case tiff
    /// Recognised only.
    case ico
    /// Recognised only.
    case svg
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
