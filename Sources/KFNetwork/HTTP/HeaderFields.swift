import Glibc

/// The fields of a response head in their order. Names are case-insensitive.
///
/// Values are decoded on access, because a response for a small file needs only three or four of about ten fields.
package struct HeaderFields: Sendable, Equatable {
    private struct Field: Sendable, Equatable {
        var key: UInt32
        var name: Range<Int32>
        var value: Range<Int32>
    }

    private var bytes: [UInt8] = []
    private var fields: [Field] = []

    package init() {}

    package init(_ pairs: [(name: String, value: String)]) {
        for (name, value) in pairs {
            let line = Array(name.utf8) + Array(value.utf8)
            let count = name.utf8.count
            line.withUnsafeBytes { append(line: $0, colon: count, value: count) }
        }
    }

    package var count: Int { fields.count }

    /// Returns the first value of a name.
    package subscript(name: String) -> String? {
        let name = FieldName(name)
        for field in fields where matches(field, name) { return text(field.value) }
        return nil
    }

    /// Returns the values of a name in order, one per field.
    package func all(_ name: String) -> [String] { all(FieldName(name)) }

    func all(_ name: FieldName) -> [String] {
        var values: [String] = []
        for field in fields where matches(field, name) { values.append(text(field.value)) }
        return values
    }

    /// The names as they were sent, with their values. A value that is not valid UTF-8 is read as Latin-1, the
    /// historical reading of RFC 9110 (5.5), so that no byte is lost.
    package var pairs: [(name: String, value: String)] {
        fields.map { (text($0.name), text($0.value)) }
    }

    /// Appends a line whose name ends at `colon` and whose value runs from `value` to the end of the line.
    mutating func append(line: UnsafeRawBufferPointer, colon: Int, value: Int) {
        let key = FieldName.key(UnsafeRawBufferPointer(rebasing: line[..<colon]))
        let start = Int32(bytes.count)
        bytes.append(contentsOf: line)
        let (middle, from) = (start + Int32(colon), start + Int32(value))
        fields.append(Field(key: key, name: start..<middle, value: from..<start + Int32(line.count)))
    }

    /// Appends a folded line (RFC 9112, 5.2) to the last value. Returns false if there is no field yet.
    mutating func continueLast(with more: UnsafeRawBufferPointer) -> Bool {
        guard let last = fields.indices.last else { return false }
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: more)
        fields[last].value = fields[last].value.lowerBound..<Int32(bytes.count)
        return true
    }

    mutating func reserve(fields count: Int, bytes size: Int) {
        fields.reserveCapacity(count)
        bytes.reserveCapacity(size)
    }

    /// Returns whether there is a field of that name. Cheaper than reading its value.
    func contains(_ name: FieldName) -> Bool {
        for field in fields where matches(field, name) { return true }
        return false
    }

    /// Returns whether a value of that name contains the letters (given in lower case), ignoring case.
    func contains(_ name: FieldName, letters: StaticString) -> Bool {
        let sought = UnsafeBufferPointer(start: letters.utf8Start, count: letters.utf8CodeUnitCount)
        for field in fields where matches(field, name) && field.value.count >= sought.count {
            let found = bytes.withUnsafeBufferPointer { bytes in
                (Int(field.value.lowerBound)...Int(field.value.upperBound) - sought.count).contains {
                    start in
                    sought.indices.allSatisfy { bytes[start + $0].asciiLowercased == sought[$0] }
                }
            }
            if found { return true }
        }
        return false
    }

    /// Returns the value of the only field of that name if it is a plain number of up to 18 digits. Nil for all else,
    /// which the caller must examine.
    func plainNumber(_ name: FieldName) -> Int64? {
        var found: Range<Int32>?
        for field in fields where matches(field, name) {
            guard found == nil else { return nil }
            found = field.value
        }
        guard let found, 1...18 ~= found.count else { return nil }
        return bytes.withUnsafeBufferPointer { bytes in
            var number: Int64 = 0
            var at = Int(found.lowerBound)
            while at < Int(found.upperBound) {
                let byte = bytes[at]
                guard byte &- 0x30 < 10 else { return nil }
                number = number * 10 + Int64(byte - 0x30)
                at += 1
            }
            return number
        }
    }

    @inline(__always)
    private func matches(_ field: Field, _ name: FieldName) -> Bool {
        field.key == name.key
            && bytes.withUnsafeBytes { bytes in
                name.isSame(
                    as: UnsafeRawBufferPointer(
                        rebasing: bytes[Int(field.name.lowerBound)..<Int(field.name.upperBound)]))
            }
    }

    private func text(_ range: Range<Int32>) -> String {
        let slice = bytes[Int(range.lowerBound)..<Int(range.upperBound)]
        return String(validating: slice, as: UTF8.self)
            ?? String(String.UnicodeScalarView(slice.lazy.map { Unicode.Scalar($0) }))
    }
}

extension UInt8 {
    @inline(__always)
    var asciiLowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}

/// A field name with its hash key, made once for names that are looked up in every head.
struct FieldName {
    let text: String
    /// The hash key, which ignores case. Different names may share a key.
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

    /// Returns the key of a name: its length and three letters, which distinguish the usual fields.
    static func key(_ name: UnsafeRawBufferPointer) -> UInt32 {
        guard let first = name.first, let last = name.last else { return 0 }
        let middle = name[name.count / 2]
        return UInt32(truncatingIfNeeded: name.count) << 24 | UInt32(first | 0x20) << 16 | UInt32(middle | 0x20) << 8
            | UInt32(last | 0x20)
    }

    /// Returns whether the bytes are this name, ignoring case.
    func isSame(as name: UnsafeRawBufferPointer) -> Bool {
        var text = text
        return text.withUTF8 { text in
            guard text.count == name.count else { return false }
            // Most servers use the standard's capitalization.
            if text.isEmpty || memcmp(text.baseAddress!, name.baseAddress!, text.count) == 0 { return true }
            return text.indices.allSatisfy { text[$0].asciiLowercased == name[$0].asciiLowercased }
        }
    }
}

/// Properties of known request header fields. Any other field may hold a secret.
package enum RequestField {
    /// Fields that neither identify the requester nor, for images, select the content: RFC 9110 (10.1, 12.5, 7.6), RFC
    /// 9111 (5.2, 5.4), and tracing and privacy fields in common use.
    private static let neutral: Set<String> = [
        "user-agent", "referer", "from", "accept-language", "accept-encoding", "accept-charset", "cache-control",
        "pragma", "connection", "keep-alive", "te", "dnt", "sec-gpc", "upgrade-insecure-requests", "priority",
        "traceparent", "tracestate", "x-request-id", "x-correlation-id",
    ]

    /// Fields that select the content and hold no secret: the media types, and client hints.
    private static let selecting: Set<String> = [
        "accept", "dpr", "width", "viewport-width", "viewport-height", "save-data", "device-memory", "downlink", "ect",
        "rtt",
    ]

    /// Returns whether a caller may not set the field, because it asks for something other than the whole image. kf makes
    /// ranges and conditions of what it has.
    package static func isReserved(_ name: String) -> Bool {
        let name = name.lowercased()
        return name == "range" || name.hasPrefix("if-")
    }

    /// Returns whether requests that differ only in this field get the same image.
    package static func isNeutral(_ name: String) -> Bool { neutral.contains(name.lowercased()) }

    /// Returns whether the field may be sent to an origin other than that of the original request.
    package static func mayChangeOrigin(_ name: String) -> Bool {
        let name = name.lowercased()
        return neutral.contains(name) || selecting.contains(name) || name.hasPrefix("sec-ch-")
    }
}
