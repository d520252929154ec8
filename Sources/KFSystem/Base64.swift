/// Base 64 (RFC 4648). Foundation's coder would add 0.4 ms to every start of the program, and libcrypto's 3 MB to the program.
package enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    /// The value of each byte as a digit; 64 if it is none.
    private static let values = {
        var values = [UInt8](repeating: 64, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(clamping: value) }
        return values
    }()

    /// Returns the encoded text, with padding and without line breaks.
    package static func encode(_ bytes: [UInt8]) -> String {
        let length = (bytes.count + 2) / 3 * 4
        return String(unsafeUninitializedCapacity: length) { text in
            for group in 0..<length / 4 {
                var word: UInt32 = 0
                let left = bytes.count - group * 3
                for place in 0..<3 {
                    word = word << 8 | (place < left ? UInt32(clamping: bytes[group * 3 + place]) : 0)
                }
                for place in 0..<4 {
                    let digit = digits[Int(word >> (18 - 6 * UInt32(clamping: place)) & 63)]
                    text.initializeElement(at: group * 4 + place, to: place > left ? UInt8(ascii: "=") : digit)
                }
            }
            return length
        }
    }

    /// Returns the decoded bytes, or nil unless the text is padded base 64 without white space.
    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { text in
            var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3)
            let count = bytes.withUnsafeMutableBytes { decode(UnsafeRawBufferPointer(text), into: $0) }
            return count.map { Array(bytes[..<$0]) }
        }
    }

    /// Writes three bytes for each four digits, with zeros for padding. Returns the number of bytes without those; nil if the
    /// digits are no padded base 64. `bytes` must have the room.
    @inline(__always) package static func decode(
        _ text: UnsafeRawBufferPointer, into bytes: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard text.count % 4 == 0 else { return nil }
        var count = text.count
        while count > 0, text.count - count < 2, text[count - 1] == UInt8(ascii: "=") { count -= 1 }
        return values.withUnsafeBufferPointer { values in
            var seen: UInt8 = 0
            func value(_ place: Int) -> UInt32 {
                let value = place < count ? values[Int(text[place])] : 0
                seen |= value
                return UInt32(clamping: value)
            }
            for group in 0..<text.count / 4 {
                let place = group * 4
                let word = value(place) << 18 | value(place + 1) << 12 | value(place + 2) << 6 | value(place + 3)
                bytes[group * 3] = UInt8(truncatingIfNeeded: word >> 16)
                bytes[group * 3 + 1] = UInt8(truncatingIfNeeded: word >> 8)
                bytes[group * 3 + 2] = UInt8(truncatingIfNeeded: word)
            }
            return seen < 64 ? count * 3 / 4 : nil
        }
    }
}
