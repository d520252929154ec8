/// The EXIF and XMP of a file. Decoders apply the orientation in them and set it to upright; encoders remove the pictures in
/// them and write the size anew.
public struct ImageMetadata: Sendable, Equatable {
    /// EXIF as a TIFF file, without the marker that some formats put in front. Its orientation is 1 (upright).
    public var exif: [UInt8]?
    /// XMP as a packet of XML. Its orientation, if any, is 1 (upright).
    public var xmp: [UInt8]?

    /// The largest block that is carried, in bytes.
    static let maximumLength = 1 << 18

    /// Copies the blocks and sets their orientation to upright; nil when there is neither.
    init?(exif: UnsafeRawBufferPointer?, xmp: UnsafeRawBufferPointer?) {
        func isCarried(_ bytes: UnsafeRawBufferPointer) -> Bool {
            (1...ImageMetadata.maximumLength).contains(bytes.count)
        }
        self.exif = exif.flatMap { isCarried($0) ? ExifFile.upright($0) : nil }
        self.xmp = xmp.flatMap { isCarried($0) ? XMPPacket.upright($0) : nil }
        if self.exif == nil, self.xmp == nil { return nil }
    }

    /// Sets the orientation of blocks in arrays to upright; nil when there is neither.
    init?(uprightOf exif: [UInt8]?, _ xmp: [UInt8]?) {
        let metadata = (exif ?? []).withUnsafeBytes { exif in
            (xmp ?? []).withUnsafeBytes { xmp in ImageMetadata(exif: exif, xmp: xmp) }
        }
        guard let metadata else { return nil }
        self = metadata
    }

    /// Takes the bytes of each block, without the marker or chunk around them.
    public init(exif: [UInt8]? = nil, xmp: [UInt8]? = nil) {
        self.exif = exif
        self.xmp = xmp
    }

    /// The blocks for a picture that was encoded: without the pictures in them, which show what a crop or a blur has
    /// removed, and with its size where they state one.
    func describing(_ size: PixelSize) -> ImageMetadata {
        ImageMetadata(
            exif: exif.map { $0.withRaw { ExifFile.describing(size, $0) } },
            xmp: xmp.map { $0.withRaw { XMPPacket.describing(size, $0) } })
    }
}

/// The EXIF and XMP of a file, at their place in its bytes.
struct MetadataBlocks {
    var exif: UnsafeRawBufferPointer?
    var xmp: UnsafeRawBufferPointer?

    /// The orientation from EXIF, else from XMP.
    var orientation: Orientation {
        exif.flatMap(ExifFile.orientation) ?? xmp.flatMap(XMPPacket.orientation) ?? .upright
    }

    var metadata: ImageMetadata? { ImageMetadata(exif: exif, xmp: xmp) }
}

/// An EXIF orientation, 1 to 8: how the stored picture is turned or mirrored for display.
struct Orientation: Equatable {
    let value: Int

    /// Takes a value outside 1…8 as 1.
    init(_ value: Int) {
        self.value = (1...8).contains(value) ? value : 1
    }

    static let upright = Orientation(1)

    /// Whether width and height change places.
    var swapsSides: Bool { value >= 5 }

    /// Maps the displayed pixel (x, y) to the stored one: origin + x·stepX + y·stepY, in pixels.
    func map(width: Int, height: Int) -> (originX: Int, originY: Int, stepX: (Int, Int), stepY: (Int, Int)) {
        let right = width - 1
        let bottom = height - 1
        switch value {
        case 2: return (right, 0, (-1, 0), (0, 1))
        case 3: return (right, bottom, (-1, 0), (0, -1))
        case 4: return (0, bottom, (1, 0), (0, -1))
        case 5: return (0, 0, (0, 1), (1, 0))
        case 6: return (0, bottom, (0, -1), (1, 0))
        case 7: return (right, bottom, (0, -1), (-1, 0))
        case 8: return (right, 0, (0, 1), (-1, 0))
        default: return (0, 0, (1, 0), (0, 1))
        }
    }
}
