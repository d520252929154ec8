/// Escapes for text from outside, such as names and URLs.
///
/// Control characters can control a terminal. Direction marks and invisible characters can make two names look alike.
package enum VisibleText {
    /// Escapes such characters: they become `\xNN` (ASCII, and bytes that are not UTF-8) or `\u{NNNN}`.
    package static func escaped(_ text: String) -> String {
        guard !isPlain(text) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isHarmless(scalar) {
                result.append(scalar)
            } else if let byte = RawText.byte(of: scalar) {
                result.append(contentsOf: "\\x\(byte.digits(2, radix: 16))".unicodeScalars)
            } else if scalar.isASCII {
                result.append(contentsOf: "\\x\(scalar.value.digits(2, radix: 16))".unicodeScalars)
            } else {
                result.append(contentsOf: "\\u{\(scalar.value.digits(4, radix: 16))}".unicodeScalars)
            }
        }
        return String(result)
    }

    /// Whether the text is ASCII that can be printed as it is.
    static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f } }

    /// Whether the character is visible, and neither controls a terminal nor changes the direction or the line.
    package static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value >= 0x20 && scalar.value < 0x7f }
        if RawText.byte(of: scalar) != nil { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: return false
        default:
            return !scalar.properties.isDefaultIgnorableCodePoint && !scalar.properties.isNoncharacterCodePoint
        }
    }
}
