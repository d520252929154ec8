extension PercentCoding {
    /// Text of bytes from outside: what is not UTF-8 is kept as percent escapes instead of being lost.
    static func text(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var result: [UInt8] = []
        for byte in bytes {
            if byte < 0x80 { result.append(byte) } else { result += encode(byte) }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
