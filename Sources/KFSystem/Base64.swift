import CCrypto

/// Base 64 by libcrypto. Foundation's would add 0.4 ms to every start of the program.
package enum Base64 {
    /// Returns the digits with padding and without line breaks.
    package static func encode(_ bytes: [UInt8]) -> String {
        // libcrypto writes a zero after the digits.
        var digits = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = EVP_EncodeBlock(&digits, bytes, Int32(clamping: bytes.count))
        return String(decoding: digits.prefix(Int(count)), as: UTF8.self)
    }

    /// Returns nil unless the text is base 64 with padding as in RFC 4648. White space is not allowed.
    package static func decode(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        // libcrypto would read a padding sign in the middle as a zero, and skip blanks at the ends.
        guard digits.count % 4 == 0, padding <= 2,
            digits.dropLast(padding).allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "-") })
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: digits.count / 4 * 3)
        guard EVP_DecodeBlock(&bytes, digits, Int32(clamping: digits.count)) == bytes.count else { return nil }
        bytes.removeLast(padding)
        return bytes
    }
}
