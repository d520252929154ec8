/// `%XX` in URLs.
enum PercentCoding {
    static func encode(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// Bytes that are not UTF-8 become U+FFFD.
    static func decode(_ text: some StringProtocol) -> String { String(decoding: decodeBytes(text), as: UTF8.self) }

    /// What is no valid escape stays as it is.
    static func decodeBytes(_ text: some StringProtocol) -> [UInt8] {
        var result: [UInt8] = []
        var rest = Array(text.utf8)[...]
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
}
