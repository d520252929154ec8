/// Percent-encoding in URLs.
package enum PercentCoding {
    package static func encode(_ byte: UInt8) -> String { "%" + byte.digits(2, radix: 16, uppercase: true) }

    /// Decodes the escapes. Bytes that are not UTF-8 become U+FFFD.
    package static func decode(_ text: some StringProtocol) -> String {
        String(decoding: decodeBytes(text), as: UTF8.self)
    }

    /// Decodes the escapes. Invalid escapes stay unchanged.
    package static func decodeBytes(_ text: some StringProtocol) -> [UInt8] { decodeBytes(Array(text.utf8)) }

    package static func decodeBytes(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                result.append(value)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    /// Converts bytes to text. Bytes that are not UTF-8 become percent escapes, so that nothing is lost.
    package static func text(_ bytes: ArraySlice<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return bytes.reduce(into: "") { text, byte in
            if byte < 0x80 { text.unicodeScalars.append(Unicode.Scalar(byte)) } else { text += encode(byte) }
        }
    }
}

extension FixedWidthInteger {
    /// Returns the digits of the number, with zeros before them to make at least `count`.
    @inlinable package func digits(_ count: Int, radix: Int = 10, uppercase: Bool = false) -> String {
        let text = String(self, radix: radix, uppercase: uppercase)
        return String(repeating: "0", count: Swift.max(0, count - text.utf8.count)) + text
    }
}
