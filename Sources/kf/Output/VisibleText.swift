import KFCore

/// Text from outside, made harmless for a terminal and for the eye.
///
/// Control characters can drive a terminal; marks of direction and invisible characters make one name look like another.
enum VisibleText {
    /// Such characters become `\xNN` (ASCII, and bytes that are not UTF-8) or `\u{NNNN}`.
    static func escaped(_ text: String) -> String {
        guard !isPlain(text) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isHarmless(scalar) {
                result.append(scalar)
            } else if let byte = RawText.byte(of: scalar) {
                result.append(contentsOf: "\\x\(hexadecimal(UInt32(byte), 2))".unicodeScalars)
            } else if scalar.isASCII {
                result.append(contentsOf: "\\x\(hexadecimal(scalar.value, 2))".unicodeScalars)
            } else {
                result.append(contentsOf: "\\u{\(hexadecimal(scalar.value, 4))}".unicodeScalars)
            }
        }
        return String(result)
    }

    /// Whether the text is ASCII that can be printed as it is.
    static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f } }

    /// Neither a control character nor one that is invisible, changes the direction of writing or breaks the line.
    static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value >= 0x20 && scalar.value < 0x7f }
        if RawText.byte(of: scalar) != nil { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: return false
        default:
            return !scalar.properties.isDefaultIgnorableCodePoint && !scalar.properties.isNoncharacterCodePoint
        }
    }

    static func hexadecimal(_ value: UInt32, _ digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
