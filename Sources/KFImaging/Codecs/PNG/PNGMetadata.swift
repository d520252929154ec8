import CImageCodecs

/// A PNG's text chunk (tEXt, zTXt or iTXt), opened only when it may hold EXIF or XMP.
enum PNGText {
    private static let xmpKeyword: StaticString = "XML:com.adobe.xmp\0"
    private static let exifKeywords: [StaticString] = ["Raw profile type exif\0", "Raw profile type APP1\0"]

    /// Whether an iTXt chunk's keyword says that it is XMP.
    static func mayHoldXMP(_ body: UnsafeRawBufferPointer) -> Bool { body.holds(xmpKeyword, at: 0) }

    /// Whether the keyword of a tEXt or zTXt chunk says that it is EXIF.
    static func mayHoldExif(_ body: UnsafeRawBufferPointer) -> Bool {
        exifKeywords.contains { body.holds($0, at: 0) }
    }

    /// The packet of XMP in an iTXt chunk's body; nil for a damaged one.
    static func xmp(_ body: UnsafeRawBufferPointer) -> [UInt8]? {
        let flags = xmpKeyword.utf8CodeUnitCount
        guard mayHoldXMP(body), body.count > flags + 2 else { return nil }
        // A language and a translated keyword, each ended by NUL, stand before the text.
        guard let language = body[(flags + 2)...].firstIndex(of: 0),
            let translated = body[(language + 1)...].firstIndex(of: 0)
        else { return nil }
        return text(UnsafeRawBufferPointer(rebasing: body[(translated + 1)...]), isCompressed: body[flags] == 1)
    }

    /// The EXIF data that ImageMagick and exiftool write as text: a line break, a name, a length, then hexadecimal
    /// digits. Nil for a damaged one.
    static func exif(_ body: UnsafeRawBufferPointer, isCompressed: Bool) -> [UInt8]? {
        guard let keyword = exifKeywords.first(where: { body.holds($0, at: 0) }) else { return nil }
        // A compressed text has a byte for the method first.
        let start = keyword.utf8CodeUnitCount + (isCompressed ? 1 : 0)
        guard start <= body.count,
            let text = text(UnsafeRawBufferPointer(rebasing: body[start...]), isCompressed: isCompressed)
        else { return nil }
        let lines = text.split(separator: UInt8(ascii: "\n"), maxSplits: 2)
        guard lines.count == 3 else { return nil }
        return bytes(hexadecimal: lines[2])
    }

    private static func bytes(hexadecimal text: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        var high: UInt8?
        for character in text where character > 0x20 {
            guard let digit = Character(UnicodeScalar(character)).hexDigitValue.map(UInt8.init) else { return nil }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return high == nil ? bytes : nil
    }

    /// Nil for what is damaged, or longer than what is carried as hexadecimal digits.
    private static func text(_ data: UnsafeRawBufferPointer, isCompressed: Bool) -> [UInt8]? {
        let limit = ImageMetadata.maximumLength * 5 / 2
        guard isCompressed else { return data.count <= limit ? Array(data) : nil }
        var length = 0
        let text = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            if kf_inflate(data.bindMemory(to: UInt8.self).baseAddress, data.count, buffer.baseAddress, limit, &length)
                == KF_OK
            {
                count = length
            }
        }
        return text.isEmpty ? nil : text
    }
}

/// The colour space that a PNG's cICP, sRGB, gAMA and cHRM chunks state.
struct PNGColorSpace {
    /// Code points of ITU-T H.273 for the primaries and the transfer function; nil without a cICP chunk, or for values
    /// that are stored in narrow range or as luma and chroma.
    private var codePoints: (primaries: UInt8, transfer: UInt8)?
    private var isSRGB = false
    /// The encoding exponent × 100,000.
    private var gamma: Int?
    /// x and y of white, red, green and blue × 100,000.
    private var chromaticities: [Int]?

    /// Takes a chunk that may be one of the four; the first of each kind counts.
    mutating func read(_ bytes: UnsafeRawBufferPointer, kind: Int, body: UnsafeRawBufferPointer) {
        if bytes.holds("cICP", at: kind), codePoints == nil, body.count == 4, body[2] == 0, body[3] == 1 {
            codePoints = (body[0], body[1])
        } else if bytes.holds("sRGB", at: kind), body.count == 1 {
            isSRGB = true
        } else if bytes.holds("gAMA", at: kind), gamma == nil, body.count == 4 {
            gamma = body.bigEndian32(at: 0)
        } else if bytes.holds("cHRM", at: kind), chromaticities == nil, body.count == 32 {
            chromaticities = (0..<8).compactMap { body.bigEndian32(at: $0 * 4) }
        }
    }

    /// The profile that the pixels are meant in, chosen in the order that PNG's third edition gives: cICP, the embedded
    /// profile, sRGB, then gAMA with cHRM. Nil is sRGB.
    func profile(embedded: [UInt8]?, isGray: Bool) -> [UInt8]? {
        if let codePoints {
            guard let primaries = Self.primaries[codePoints.primaries], let curve = Self.curve(codePoints.transfer)
            else { return embedded }
            if primaries == Self.srgbPrimaries, curve == .srgb { return nil }
            return Self.make(primaries, curve, isGray)
        }
        if let embedded { return embedded }
        if isSRGB { return nil }
        return statedProfile(isGray: isGray)
    }

    /// What is within libpng's tolerances of sRGB counts as sRGB: the many files that say 1/2.2 mean that. A missing
    /// half is sRGB's.
    private func statedProfile(isGray: Bool) -> [UInt8]? {
        let primaries = isGray ? nil : chromaticities.map { $0.map { Double($0) / 100_000 } }
        let isWide = primaries.map { zip($0, Self.srgbPrimaries).contains { abs($0 - $1) > 0.001 } } ?? false
        var curve = Curve.srgb
        // Exponents beyond these are slips, such as a gamma of 0.
        if let gamma, (10_000...1_000_000).contains(gamma), abs(Double(gamma) * 2.2 / 100_000 - 1) > 0.05 {
            curve = .gamma(100_000 / Double(gamma))
        }
        guard isWide || curve != .srgb else { return nil }
        return Self.make(isWide ? primaries ?? Self.srgbPrimaries : Self.srgbPrimaries, curve, isGray)
    }

    private enum Curve: Equatable {
        case srgb, bt709
        /// Light is the value to this power.
        case gamma(Double)
    }

    private static func make(_ primaries: [Double], _ curve: Curve, _ isGray: Bool) -> [UInt8]? {
        var space = kf_color_space()
        space.is_gray = isGray ? 1 : 0
        switch curve {
        case .srgb: space.curve = KF_CURVE_SRGB
        case .bt709: space.curve = KF_CURVE_BT709
        case .gamma(let exponent): (space.curve, space.gamma) = (KF_CURVE_GAMMA, exponent)
        }
        withUnsafeMutableBytes(of: &space.chromaticities) { target in
            primaries.withUnsafeBytes { target.copyBytes(from: $0.prefix(target.count)) }
        }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let length = kf_color_profile(&space, &bytes, bytes.count)
        return ICCProfile.fitting(Array(bytes.prefix(length)), isGray ? .gray : .rgb)
    }

    private static let srgbPrimaries = [0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06]

    /// By code point of H.273: BT.709, BT.470 M and B/G, BT.601 (525 lines), BT.2020, DCI-P3 and Display P3.
    private static let primaries: [UInt8: [Double]] = [
        1: srgbPrimaries,
        4: [0.31, 0.316, 0.67, 0.33, 0.21, 0.71, 0.14, 0.08],
        5: [0.3127, 0.329, 0.64, 0.33, 0.29, 0.6, 0.15, 0.06],
        6: [0.3127, 0.329, 0.63, 0.34, 0.31, 0.595, 0.155, 0.07],
        7: [0.3127, 0.329, 0.63, 0.34, 0.31, 0.595, 0.155, 0.07],
        9: [0.3127, 0.329, 0.708, 0.292, 0.17, 0.797, 0.131, 0.046],
        11: [0.314, 0.351, 0.68, 0.32, 0.265, 0.69, 0.15, 0.06],
        12: [0.3127, 0.329, 0.68, 0.32, 0.265, 0.69, 0.15, 0.06],
    ]

    /// Nil for PQ and HLG, whose values mean more light than sRGB can show, and for what is rare.
    private static func curve(_ transfer: UInt8) -> Curve? {
        switch transfer {
        case 1, 6, 14, 15: .bt709
        case 4: .gamma(2.2)
        case 5: .gamma(2.8)
        case 8: .gamma(1)
        case 13: .srgb
        default: nil
        }
    }
}
