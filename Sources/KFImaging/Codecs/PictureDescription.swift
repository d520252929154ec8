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

extension Image {
    /// Takes the metadata, and the code points of an HDR picture, which formats other than AVIF lose.
    mutating func describe(_ description: PictureDescription, _ format: ImageFormat) {
        metadata = description.metadata
        codePoints = description.hdr
        if codePoints != nil { warnings.append(.notToneMapped(format)) }
    }
}
