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
