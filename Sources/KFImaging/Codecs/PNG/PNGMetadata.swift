import CImageCodecs

/// EXIF and XMP in a PNG's text chunks (tEXt, zTXt and iTXt).
enum PNGText {
    private static let xmpKeyword: StaticString = "XML:com.adobe.xmp\0"
    private static let exifKeywords: [StaticString] = ["Raw profile type exif\0", "Raw profile type APP1\0"]

    /// Whether the keyword of an iTXt chunk is that of XMP.
    static func mayHoldXMP(_ body: UnsafeRawBufferPointer) -> Bool { body.holds(xmpKeyword, at: 0) }

    /// Whether the keyword of a tEXt or zTXt chunk is one of EXIF.
    static func mayHoldExif(_ body: UnsafeRawBufferPointer) -> Bool {
        exifKeywords.contains { body.holds($0, at: 0) }
    }

    /// Returns the XMP packet of an iTXt chunk; nil for a damaged one.
    static func xmp(_ body: UnsafeRawBufferPointer) -> [UInt8]? {
        let flags = xmpKeyword.utf8CodeUnitCount
        guard mayHoldXMP(body), body.count > flags + 2 else { return nil }
        // A language tag and a translated keyword, each terminated by NUL, precede the text.
        guard let language = body[(flags + 2)...].firstIndex(of: 0),
            let translated = body[(language + 1)...].firstIndex(of: 0)
        else { return nil }
        return text(UnsafeRawBufferPointer(rebasing: body[(translated + 1)...]), isCompressed: body[flags] == 1)
    }

    /// Returns the EXIF data that ImageMagick and exiftool write as text; nil for damaged text.
    ///
    /// The text has a line break, a name, a length, then hexadecimal digits.
    static func exif(_ body: UnsafeRawBufferPointer, isCompressed: Bool) -> [UInt8]? {
        guard let keyword = exifKeywords.first(where: { body.holds($0, at: 0) }) else { return nil }
        // The compression method precedes compressed text.
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

    /// Returns the text; nil when it is damaged, or longer than the hexadecimal form of the largest block that is
    /// carried.
    private static func text(_ data: UnsafeRawBufferPointer, isCompressed: Bool) -> [UInt8]? {
        let limit = ImageMetadata.maximumLength * 5 / 2
        guard isCompressed else { return data.count <= limit ? Array(data) : nil }
        return data.inflated(limit: limit)
    }
}

extension UnsafeRawBufferPointer {
    /// The content of a zlib stream; nil when it is damaged, empty, or longer than the limit.
    func inflated(limit: Int) -> [UInt8]? {
        var length = 0
        let content = [UInt8](unsafeUninitializedCapacity: limit) { buffer, written in
            let status = kf_inflate(bindMemory(to: UInt8.self).baseAddress, count, buffer.baseAddress, limit, &length)
            if status == KF_OK { written = length }
        }
        // A copy of just that length.
        return content.isEmpty ? nil : Array(content[...])
    }
}

/// The colour space in a PNG's cICP, sRGB, gAMA and cHRM chunks.
struct PNGColorSpace {
    /// The ITU-T H.273 code points of primaries and transfer function from a cICP chunk.
    ///
    /// Nil without that chunk, and for narrow range or luma and chroma.
    private var codePoints: CodePoints?
    private var isSRGB = false
    /// The encoding gamma × 100,000.
    private var gamma: Int?
    /// x and y of white, red, green and blue × 100,000.
    private var chromaticities: [Int]?

    /// Reads a chunk if it is one of the four; the first of each kind counts.
    mutating func read(_ body: UnsafeRawBufferPointer, _ kind: FourCharacters) {
        switch (kind, body.count) {
        case ("cICP", 4) where codePoints == nil && body[2] == 0 && body[3] == 1:
            codePoints = CodePoints(primaries: Int(body[0]), transfer: Int(body[1]))
        case ("sRGB", 1): isSRGB = true
        case ("gAMA", 4) where gamma == nil: gamma = body.bigEndian32(at: 0)
        case ("cHRM", 32) where chromaticities == nil:
            chromaticities = (0..<8).compactMap { body.bigEndian32(at: $0 * 4) }
        default: break
        }
    }

    /// Whether the pixels are encoded with PQ or HLG.
    var isHDR: Bool { codePoints?.isHDR ?? false }

    /// Returns the profile of the pixels; nil is sRGB.
    ///
    /// The precedence is that of PNG's third edition: cICP, the embedded profile, sRGB, then gAMA with cHRM.
    func profile(embedded: [UInt8]?, isGray: Bool) -> [UInt8]? {
        if let codePoints {
            guard let space = codePoints.space else { return embedded }
            return space == .srgb ? nil : space.profile(isGray: isGray)
        }
        if let embedded { return embedded }
        if isSRGB { return nil }
        return statedProfile(isGray: isGray)
    }

    /// Returns the profile for gAMA and cHRM; sRGB's value replaces a missing one.
    ///
    /// Values within libpng's tolerances of sRGB count as sRGB, because many files write a gamma of 1/2.2 for sRGB.
    private func statedProfile(isGray: Bool) -> [UInt8]? {
        let primaries = isGray ? nil : chromaticities.map { $0.map { Double($0) / 100_000 } }
        let isWide =
            primaries.map { zip($0, StatedColorSpace.srgbPrimaries).contains { abs($0 - $1) > 0.001 } } ?? false
        var curve = ToneCurve.srgb
        // Values beyond these are errors, such as a gamma of 0.
        if let gamma, (10_000...1_000_000).contains(gamma), abs(Double(gamma) * 2.2 / 100_000 - 1) > 0.05 {
            curve = .gamma(100_000 / Double(gamma))
        }
        guard isWide || curve != .srgb else { return nil }
        let space = StatedColorSpace(
            primaries: (isWide ? primaries : nil) ?? StatedColorSpace.srgbPrimaries, curve: curve)
        return space.profile(isGray: isGray)
    }
}
