import Glibc

/// A field's name with its key, made once for names that are looked up in every head.
struct FieldName {
    let text: String
    /// The same whatever the case of the letters. Names of one key may differ.
    let key: UInt32

    init(_ text: String) {
        var text = text
        key = text.withUTF8 { Self.key(UnsafeRawBufferPointer($0)) }
        self.text = text
    }

    static let connection = FieldName("Connection")
    static let contentEncoding = FieldName("Content-Encoding")
    static let contentLength = FieldName("Content-Length")
    static let transferEncoding = FieldName("Transfer-Encoding")

    /// The length and three letters: enough to tell the usual fields apart.
    static func key(_ name: UnsafeRawBufferPointer) -> UInt32 {
        guard let first = name.first, let last = name.last else { return 0 }
        let middle = name[name.count / 2]
        return UInt32(truncatingIfNeeded: name.count) << 24 | UInt32(first | 0x20) << 16 | UInt32(middle | 0x20) << 8
            | UInt32(last | 0x20)
    }

    /// Whether the bytes are this name, in any case.
    func isSame(as name: UnsafeRawBufferPointer) -> Bool {
        var text = text
        return text.withUTF8 { text in
            guard text.count == name.count else { return false }
            // Most servers write a name as the standard does.
            if text.isEmpty || memcmp(text.baseAddress!, name.baseAddress!, text.count) == 0 { return true }
            return text.indices.allSatisfy { text[$0].asciiLowercased == name[$0].asciiLowercased }
        }
    }
}
