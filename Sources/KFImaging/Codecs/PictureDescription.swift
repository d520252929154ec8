import CImageCodecs

/// The colour profile and the metadata that a file states for its pixels.
struct PictureDescription {
    /// The profile that is embedded, or one of the code points; nil is sRGB.
    let profile: [UInt8]?
    let metadata: ImageMetadata?
    /// The code points of HDR without a profile.
    let hdr: CodePoints?

    /// Reads blocks of the C code, which are copied. `points` are those that the file states.
    init(
        _ format: PixelFormat, _ points: CodePoints, icc: UnsafeRawBufferPointer?, metadata: ImageMetadata?
    ) {
        let embedded = ICCProfile.fitting(icc.map(Array.init), format)
        profile = embedded ?? PictureDescription.profile(points, format)
        self.metadata = metadata
        hdr = embedded == nil && points.isHDR ? points : nil
    }

    /// Describes a picture of libavif or libheif.
    init(_ format: PixelFormat, _ facts: kf_picture) {
        let blocks = facts.blocks
        self.init(
            format, CodePoints(primaries: Int(facts.primaries), transfer: Int(facts.transfer)),
            icc: PictureDescription.block(blocks.profile.bytes, blocks.profile.length),
            metadata: ImageMetadata(
                exif: PictureDescription.block(blocks.exif.bytes, blocks.exif.length),
                xmp: PictureDescription.block(blocks.xmp.bytes, blocks.xmp.length)))
    }

    /// Returns the profile of a picture that states code points only; nil is sRGB.
    ///
    /// Code point 2 is unspecified, which counts as sRGB. So does the curve of BT.709 with its own primaries: encoders
    /// of video state it for pictures that were made for display, and browsers show them as sRGB. PQ and HLG get no
    /// profile, because an ICC profile of their range is useless to an sRGB picture.
    private static func profile(_ stated: CodePoints, _ format: PixelFormat) -> [UInt8]? {
        let points = CodePoints(
            primaries: stated.primaries == 2 || format.isGray ? 1 : stated.primaries,
            transfer: stated.transfer == 2 ? 13 : stated.transfer)
        guard let space = points.space, space != .srgb, space != .bt709 else { return nil }
        return space.profile(isGray: format.isGray)
    }

    /// The bytes that the C code points to.
    static func block(_ bytes: UnsafePointer<UInt8>?, _ length: Int) -> UnsafeRawBufferPointer? {
        bytes.map { UnsafeRawBufferPointer(start: $0, count: length) }
    }
}

extension kf_picture {
    /// - Throws: `unsupported`.
    func format(of format: ImageFormat) throws(ImagingError) -> PixelFormat {
        guard let channels = PixelFormat.Channels(rawValue: Int(channels)) else {
            throw .unsupported(format, feature: "\(self.channels) channels")
        }
        return PixelFormat(channels, depth > 8 ? .sixteen : .eight)
    }
}

extension Image {
    /// Takes the metadata, and the code points of an HDR picture, which formats other than AVIF lose.
    mutating func describe(_ description: PictureDescription, _ format: ImageFormat) {
        metadata = description.metadata
        codePoints = description.hdr
        if codePoints != nil { warnings.append(.notToneMapped(format)) }
    }
}
