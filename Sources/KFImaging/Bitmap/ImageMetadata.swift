/// What a file says about its picture beside the pixels; carried through, never looked into.
public struct ImageMetadata: Sendable, Equatable {
    /// EXIF as a TIFF file, without the marker that some formats put in front. Its orientation is 1: the pixels are
    /// upright.
    public var exif: [UInt8]?
    /// XMP as a packet of XML.
    public var xmp: [UInt8]?

    /// More than this is not carried.
    static let maximumLength = 1 << 18

    /// Nil when there is neither.
    init?(exif: UnsafeRawBufferPointer?, xmp: UnsafeRawBufferPointer?) {
        func isCarried(_ bytes: UnsafeRawBufferPointer) -> Bool {
            (1...ImageMetadata.maximumLength).contains(bytes.count)
        }
        self.exif = exif.flatMap { isCarried($0) ? ExifOrientation.reset(in: $0) : nil }
        self.xmp = xmp.flatMap { isCarried($0) ? Array($0) : nil }
        if self.exif == nil, self.xmp == nil { return nil }
    }

    /// Each as its bytes, without the marker or chunk around them.
    public init(exif: [UInt8]? = nil, xmp: [UInt8]? = nil) {
        self.exif = exif
        self.xmp = xmp
    }
}
