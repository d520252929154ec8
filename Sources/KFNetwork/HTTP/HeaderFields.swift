import KFSystem

/// The fields of a response head in their order: one block of bytes, and the place of each field in it. Names are
/// case-insensitive.
///
/// Values are decoded on access, because a response for a small file needs only three or four of about ten fields. Those of a
/// `FieldName` keep bytes that are not UTF-8 (`RawText`), because validators and locations are sent back. The others are for
/// readers: Latin-1, the historical reading of RFC 9110 (5.5).
package struct HeaderFields: Sendable, Equatable {
    private struct Field: Equatable {
        let name: FieldName
        let nameRange: Range<Int32>
        var value: Range<Int32>
    }

    package private(set) var bytes: [UInt8] = []
    private var fields: [Field] = []
    /// Whether a field tells the number of requests that the server still allows.
    private(set) var hasQuota = false

    package init() {}

    package init(_ pairs: [(name: String, value: String)]) {
        for (name, value) in pairs {
            let line = Array(name.utf8) + Array(value.utf8)
            let count = name.utf8.count
            line.withUnsafeBytes { append(FieldName(name.utf8.span), line: $0, colon: count, value: count) }
        }
    }

    package var count: Int { fields.count }

    package subscript(name: String) -> String? { all(name).first }

    package subscript(name: FieldName) -> String? {
        let (count, first) = find(name)
        return count > 0 ? text(first) : nil
    }

    /// Returns the values of a name in order, one per field.
    package func all(_ name: String) -> [String] {
        fields.compactMap { field in
            let other = bytes.span.extracting(field.nameRange.offsets)
            return other.isSame(as: name.utf8.span) ? shown(field.value.offsets) : nil
        }
    }

    package func all(_ name: FieldName) -> [String] {
        fields.compactMap { $0.name == name ? text($0.value.offsets) : nil }
    }

    /// Returns the number of fields of a name, and the place of the first one's value in `bytes`.
    package func find(_ name: FieldName) -> (count: Int, first: Range<Int>) {
        var (count, first) = (0, 0..<0)
        for field in fields where field.name == name {
            if count == 0 { first = field.value.offsets }
            count += 1
        }
        return (count, first)
    }

    package func contains(_ name: FieldName) -> Bool {
        for field in fields where field.name == name { return true }
        return false
    }

    /// The names as they were sent, with their values.
    package var pairs: [(name: String, value: String)] {
        fields.map { (shown($0.nameRange.offsets), shown($0.value.offsets)) }
    }

    /// Returns the fields of some names as lines, `name: value` with the name in lower case, by the order of the names.
    package func lines(of names: [FieldName]) -> String {
        var lines = ""
        for name in names {
            for field in fields where field.name == name {
                if !lines.isEmpty { lines += "\n" }
                lines += name.rawValue
                lines += ": "
                lines += text(field.value.offsets)
            }
        }
        return lines
    }

    func only(_ names: [FieldName]) -> HeaderFields {
        var kept = HeaderFields()
        for field in fields where names.contains(field.name) {
            let start = field.nameRange.offsets.lowerBound
            bytes.withUnsafeBytes {
                let line = UnsafeRawBufferPointer(rebasing: $0[start..<field.value.offsets.upperBound])
                let value = field.value.offsets.lowerBound - start
                kept.append(field.name, line: line, colon: field.nameRange.count, value: value)
            }
        }
        return kept
    }

    /// Appends a line whose name ends at `colon` and whose value runs from `value` to the end of the line.
    mutating func append(_ name: FieldName, line: UnsafeRawBufferPointer, colon: Int, value: Int) {
        let start = Int32(clamping: bytes.count)
        if name == .rateLimit || name == .rateLimitRemaining { hasQuota = true }
        bytes.append(contentsOf: line)
        let (middle, from) = (start + Int32(clamping: colon), start + Int32(clamping: value))
        fields.append(Field(name: name, nameRange: start..<middle, value: from..<start + Int32(clamping: line.count)))
    }

    /// Appends a folded line (RFC 9112, 5.2) to the last value. Returns false if there is no field yet.
    mutating func continueLast(with more: UnsafeRawBufferPointer) -> Bool {
        guard let last = fields.indices.last else { return false }
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: more)
        fields[last].value = fields[last].value.lowerBound..<Int32(clamping: bytes.count)
        return true
    }

    mutating func reserve(fields count: Int, bytes size: Int) {
        fields.reserveCapacity(count)
        bytes.reserveCapacity(size)
    }

    /// Returns whether a value of that name contains the letters (given in lower case), ignoring case.
    func contains(_ name: FieldName, letters: String) -> Bool {
        let (bytes, letters) = (bytes.span, letters.utf8.span)
        for field in fields where field.name == name && field.value.count >= letters.count {
            for start in field.value.lowerBound...field.value.upperBound - Int32(clamping: letters.count) {
                if letters.indices.allSatisfy({ bytes[Int(start) + $0] | 0x20 == letters[$0] }) { return true }
            }
        }
        return false
    }

    /// Returns the value of the only field of that name if it is a plain number of up to 18 digits. Nil for all else,
    /// which the caller must examine.
    func plainNumber(_ name: FieldName) -> Int64? {
        let (count, range) = find(name)
        guard count == 1, 1...18 ~= range.count else { return nil }
        var number: Int64 = 0
        for index in range {
            guard bytes[index] &- 0x30 < 10 else { return nil }
            number = number * 10 + Int64(bytes[index] - 0x30)
        }
        return number
    }

    /// Returns bytes as text that keeps those that are not UTF-8.
    package func text(_ range: Range<Int>) -> String { RawText.decode(bytes[range]) }

    private func shown(_ range: Range<Int>) -> String {
        let text = text(range)
        if RawText.isPlain(text) { return text }
        return String(String.UnicodeScalarView(bytes[range].lazy.map { Unicode.Scalar($0) }))
    }
}

extension Range<Int32> {
    fileprivate var offsets: Range<Int> { Int(lowerBound)..<Int(upperBound) }
}

extension UInt8 {
    @inline(__always)
    var asciiLowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}

extension Span<UInt8> {
    /// Returns whether these bytes are others, ignoring case.
    fileprivate func isSame(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        // Without an early exit, the compiler vectorizes the loop.
        var difference: UInt8 = 0
        for index in indices {
            difference |= self[unchecked: index].asciiLowercased ^ other[unchecked: index].asciiLowercased
        }
        return difference == 0
    }
}

/// The names of the fields that matter, in lower case. A field's name is looked up once, when the head is parsed.
package enum FieldName: String, Sendable {
    case other = ""
    case age, connection, date, etag, expires, location, vary
    case cacheControl = "cache-control"
    case contentEncoding = "content-encoding"
    case contentLength = "content-length"
    case contentRange = "content-range"
    case contentType = "content-type"
    case lastModified = "last-modified"
    case rateLimit = "ratelimit"
    case rateLimitRemaining = "ratelimit-remaining"
    case rateLimitReset = "ratelimit-reset"
    case retryAfter = "retry-after"
    case transferEncoding = "transfer-encoding"
    case wwwAuthenticate = "www-authenticate"

    /// Finds a name by its length and first letter, which distinguish all but two of the names.
    package init(_ name: Span<UInt8>) {
        let first = name.isEmpty ? 0 : name[0] | 0x20
        let candidate: FieldName =
            switch (name.count, first) {
            case (3, UInt8(ascii: "a")): .age
            case (4, UInt8(ascii: "d")): .date
            case (4, UInt8(ascii: "e")): .etag
            case (4, UInt8(ascii: "v")): .vary
            case (7, UInt8(ascii: "e")): .expires
            case (8, UInt8(ascii: "l")): .location
            case (9, UInt8(ascii: "r")): .rateLimit
            case (10, UInt8(ascii: "c")): .connection
            case (11, UInt8(ascii: "r")): .retryAfter
            case (12, UInt8(ascii: "c")): .contentType
            case (13, UInt8(ascii: "c")): name[1] | 0x20 == UInt8(ascii: "a") ? .cacheControl : .contentRange
            case (13, UInt8(ascii: "l")): .lastModified
            case (14, UInt8(ascii: "c")): .contentLength
            case (15, UInt8(ascii: "r")): .rateLimitReset
            case (16, UInt8(ascii: "c")): .contentEncoding
            case (16, UInt8(ascii: "w")): .wwwAuthenticate
            case (17, UInt8(ascii: "t")): .transferEncoding
            case (19, UInt8(ascii: "r")): .rateLimitRemaining
            default: .other
            }
        self = candidate != .other && name.isSame(as: candidate.rawValue.utf8.span) ? candidate : .other
    }
}
