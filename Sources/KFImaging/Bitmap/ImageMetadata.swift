/// The EXIF and XMP of a file. Only the orientation in them is changed: it is applied to the pixels and set to upright.
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
        self.exif = exif.flatMap { isCarried($0) ? ExifOrientation.reset(in: $0) : nil }
        self.xmp = xmp.flatMap { isCarried($0) ? XMPOrientation.reset(in: $0) : nil }
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
}

/// The EXIF and XMP of a file, at their place in its bytes.
struct MetadataBlocks {
    var exif: UnsafeRawBufferPointer?
    var xmp: UnsafeRawBufferPointer?

    /// The orientation from EXIF, else from XMP.
    var orientation: Orientation {
        exif.flatMap(ExifOrientation.read) ?? xmp.flatMap(XMPOrientation.read) ?? .upright
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

/// Finds the orientation in EXIF data, a small TIFF file.
enum ExifOrientation {
    /// Returns the orientation; nil when there is none or the data is damaged, since metadata must not fail a picture.
    ///
    /// Only the first directory is read, once, so that loops and huge counts cost nothing.
    static func read(_ exif: UnsafeRawBufferPointer) -> Orientation? {
        guard let tiff = Tiff(exif), let offset = tiff.orientationOffset, let value = tiff.short(offset) else {
            return nil
        }
        return Orientation(value)
    }

    /// Returns the TIFF file with its orientation set to upright; nil for other data.
    static func reset(in exif: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let tiff = Tiff(exif) else { return nil }
        var bytes = Array(tiff.bytes)
        if let offset = tiff.orientationOffset, offset + 2 <= bytes.count {
            bytes[offset] = tiff.isLittle ? 1 : 0
            bytes[offset + 1] = tiff.isLittle ? 0 : 1
        }
        return bytes
    }
}

private struct Tiff {
    let bytes: UnsafeRawBufferPointer
    let isLittle: Bool

    /// Nil without a TIFF header. EXIF's marker may precede it.
    init?(_ exif: UnsafeRawBufferPointer) {
        bytes = exif.holds("Exif\0\0", at: 0) ? UnsafeRawBufferPointer(rebasing: exif[6...]) : exif
        isLittle = bytes.holds("II*\0", at: 0)
        guard isLittle || bytes.holds("MM\0*", at: 0) else { return nil }
    }

    func short(_ offset: Int) -> Int? { isLittle ? bytes.littleEndian16(at: offset) : bytes.bigEndian16(at: offset) }
    private func long(_ offset: Int) -> Int? {
        isLittle ? bytes.littleEndian32(at: offset) : bytes.bigEndian32(at: offset)
    }

    /// The offset of the orientation's value in the first directory.
    var orientationOffset: Int? {
        guard let directory = long(4), let count = short(directory) else { return nil }
        for index in 0..<count {
            let entry = directory + 2 + 12 * index
            guard let tag = short(entry), let type = short(entry + 2) else { return nil }
            if tag == 0x0112 { return type == 3 ? entry + 8 : nil }
        }
        return nil
    }
}

/// Finds the orientation in a packet of XMP, as the attribute or the element `tiff:Orientation`.
enum XMPOrientation {
    /// Returns the orientation; nil when the packet states none.
    static func read(_ xmp: UnsafeRawBufferPointer) -> Orientation? {
        guard let place = place(in: xmp) else { return nil }
        return Orientation(Int(xmp[place]) - 0x30)
    }

    /// Returns the packet with its orientation, if any, set to upright.
    static func reset(in xmp: UnsafeRawBufferPointer) -> [UInt8] {
        var bytes = Array(xmp)
        if let place = place(in: xmp) { bytes[place] = UInt8(ascii: "1") }
        return bytes
    }

    /// The offset of the orientation's digit.
    private static func place(in xmp: UnsafeRawBufferPointer) -> Int? {
        guard var position = xmp[...].end(of: "tiff:Orientation") else { return nil }
        let spaces: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
        func skip(_ characters: [UInt8]) {
            while position < xmp.count, characters.contains(xmp[position]) { position += 1 }
        }
        skip(spaces)
        guard position < xmp.count else { return nil }
        switch xmp[position] {
        case UInt8(ascii: "="): skip(spaces + [UInt8(ascii: "="), UInt8(ascii: "\""), UInt8(ascii: "'")])
        case UInt8(ascii: ">"): skip(spaces + [UInt8(ascii: ">")])
        default: return nil
        }
        guard position < xmp.count, (0x31...0x38).contains(xmp[position]) else { return nil }
        return position
    }
}
