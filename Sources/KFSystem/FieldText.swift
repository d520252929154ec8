/// The names and values of header fields (RFC 9110, 5).
package enum FieldText {
    /// Whether the text is a token, as names are.
    package static func isName(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7f && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
            }
    }

    /// Whether the text has neither line breaks, which would end the field, nor other control characters.
    package static func isValue(_ text: some StringProtocol) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
    }

    /// Returns the parts of a value between separators outside quoted strings (RFC 9110, 5.6.4).
    package static func split(_ text: Substring, at separator: Character) -> [Substring] {
        var parts: [Substring] = []
        var start = text.startIndex
        var (isQuoted, isEscaped) = (false, false)
        for index in text.indices {
            let character = text[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if character == separator, !isQuoted {
                parts.append(text[start..<index])
                start = text.index(after: index)
            }
        }
        return parts + [text[start...]]
    }
}

extension Substring {
    /// The text without the spaces and tabs at its ends.
    package var trimmingBlanks: Substring {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let start = utf8.drop(while: isBlank)
        guard let last = start.lastIndex(where: { !isBlank($0) }) else { return "" }
        return Substring(start[...last])
    }
}

extension ArraySlice<UInt8> {
    /// The bytes without spaces, tabs and carriage returns at their ends.
    package var trimmed: ArraySlice<UInt8> {
        var bytes = drop(while: \.isBlank)
        while bytes.last?.isBlank == true { bytes.removeLast() }
        return bytes
    }
}

extension String {
    /// The text without spaces, tabs and carriage returns at its ends.
    package var trimmed: String {
        guard utf8.first?.isBlank == true || utf8.last?.isBlank == true else { return self }
        return String(decoding: Array(utf8)[...].trimmed, as: UTF8.self)
    }
}

extension UInt8 {
    /// Whether it is a space, a tab or a carriage return.
    @inlinable package var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0d }

    /// Whether it is a hexadecimal digit, with letters in lower case.
    @inlinable package var isLowercaseHex: Bool { self &- 0x30 < 10 || self &- 0x61 < 6 }
}
