import Glibc

/// The fields of a response head in their order. Names compare without regard to case. Text is made when it is asked
/// for: a batch of small files looks at three or four of some ten fields.
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

    /// The first value under a name.
    package subscript(name: String) -> String? {
        let name = FieldName(name)
        for field in fields where matches(field, name) { return text(field.value) }
        return nil
    }

    /// Every value under a name, in order, repeated fields apart.
    package func all(_ name: String) -> [String] { all(FieldName(name)) }

    func all(_ name: FieldName) -> [String] {
        var values: [String] = []
        for field in fields where matches(field, name) { values.append(text(field.value)) }
        return values
    }

    /// Names as they were sent, with their values. Values are UTF-8 where they are valid as that, else Latin-1, which
    /// RFC 9110 (5.5) names as the historical reading; no byte is lost.
    package var pairs: [(name: String, value: String)] {
        fields.map { (text($0.name), text($0.value)) }
    }

    /// Takes over a line whose name ends at `colon` and whose value starts at `value`, to the line's end.
    mutating func append(line: UnsafeRawBufferPointer, colon: Int, value: Int) {
        let key = FieldName.key(UnsafeRawBufferPointer(rebasing: line[..<colon]))
        let start = Int32(bytes.count)
        bytes.append(contentsOf: line)
        let (middle, from) = (start + Int32(colon), start + Int32(value))
        fields.append(Field(key: key, name: start..<middle, value: from..<start + Int32(line.count)))
    }

    /// Continues the last value on a folded line (RFC 9112, 5.2). False when there is none.
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

    /// Whether there is any field of that name; cheaper than asking for its value.
    func contains(_ name: FieldName) -> Bool {
        for field in fields where matches(field, name) { return true }
        return false
    }

    /// Whether a value under that name holds these lower-case letters, in any case.
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

    /// The only field of that name, when it is a plain number of up to 18 digits. nil says nothing: look closer.
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

/// What kf knows about request header fields. A field that is in none of these lists may hold a secret.
package enum RequestField {
    /// Fields that neither identify the requester nor, for images, select the content: RFC 9110 (10.1, 12.5, 7.6), RFC
    /// 9111 (5.2, 5.4), and tracing and privacy fields in common use.
    private static let neutral: Set<String> = [
        "user-agent", "referer", "from", "accept-language", "accept-encoding", "accept-charset", "cache-control",
        "pragma", "connection", "keep-alive", "te", "dnt", "sec-gpc", "upgrade-insecure-requests", "priority",
        "traceparent", "tracestate", "x-request-id", "x-correlation-id",
    ]

    /// Fields that select the content and hold no secret: the media types, client hints, and validators.
    private static let selecting: Set<String> = [
        "accept", "dpr", "width", "viewport-width", "viewport-height", "save-data", "device-memory", "downlink", "ect",
        "rtt", "if-none-match", "if-modified-since",
    ]

    /// Whether requests that differ in this field alone are answered with the same image.
    package static func isNeutral(_ name: String) -> Bool { neutral.contains(name.lowercased()) }

    /// Whether the field may be sent to another origin than the one that it was given for.
    package static func mayChangeOrigin(_ name: String) -> Bool {
        let name = name.lowercased()
        return neutral.contains(name) || selecting.contains(name) || name.hasPrefix("sec-ch-")
    }
}
