/// What a file says about its picture beside the pixels. It is carried unchanged except for the orientation, which is
/// applied to the pixels.
public struct ImageMetadata: Sendable, Equatable {
    /// EXIF as a TIFF file, without the marker that some formats put in front. Its orientation is 1: the pixels are
    /// upright.
    public var exif: [UInt8]?
    /// XMP as a packet of XML. Its orientation, where it has one, is 1.
    public var xmp: [UInt8]?

    /// More than this is not carried.
    static let maximumLength = 1 << 18

    /// Nil when there is neither.
    init?(exif: UnsafeRawBufferPointer?, xmp: UnsafeRawBufferPointer?) {
        func isCarried(_ bytes: UnsafeRawBufferPointer) -> Bool {
            (1...ImageMetadata.maximumLength).contains(bytes.count)
        }
        self.exif = exif.flatMap { isCarried($0) ? ExifOrientation.reset(in: $0) : nil }
        self.xmp = xmp.flatMap { isCarried($0) ? XMPOrientation.reset(in: $0) : nil }
        if self.exif == nil, self.xmp == nil { return nil }
    }

    /// The same for bytes in arrays.
    init?(uprightOf exif: [UInt8]?, _ xmp: [UInt8]?) {
        let metadata = (exif ?? []).withUnsafeBytes { exif in
            (xmp ?? []).withUnsafeBytes { xmp in ImageMetadata(exif: exif, xmp: xmp) }
        }
        guard let metadata else { return nil }
        self = metadata
    }

    /// Each as its bytes, without the marker or chunk around them.
    public init(exif: [UInt8]? = nil, xmp: [UInt8]? = nil) {
        self.exif = exif
        self.xmp = xmp
    }
}
