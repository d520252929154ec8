/// The fields of a response head in their order. Names compare without regard to case. Text is made when it is asked
/// for: a batch of small files looks at three or four of some ten fields.
package struct HeaderFields: Sendable, Equatable {
    private struct Field: Sendable, Equatable {
        var name: Range<Int32>
        var value: Range<Int32>
    }

    private var bytes: [UInt8] = []
    private var fields: [Field] = []

    package init() {}

    package init(_ pairs: [(name: String, value: String)]) {
        for (name, value) in pairs {
            Array(name.utf8).withUnsafeBytes { name in
                Array(value.utf8).withUnsafeBytes { value in append(name: name, value: value) }
            }
        }
    }

    package var count: Int { fields.count }

    /// The first value under a name.
    package subscript(name: String) -> String? {
        for field in fields where matches(field.name, name) { return text(field.value) }
        return nil
    }

    /// Every value under a name, in order, repeated fields apart.
    package func all(_ name: String) -> [String] {
        fields.lazy.filter { matches($0.name, name) }.map { text($0.value) }
    }

    /// Names as they were sent, with their values. Values are UTF-8 where they are valid as that, else Latin-1, which
    /// RFC 9110 (5.5) names as the historical reading; no byte is lost.
    package var pairs: [(name: String, value: String)] {
        fields.map { (text($0.name), text($0.value)) }
    }

    mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let start = Int32(bytes.count)
        bytes.append(contentsOf: name)
        let middle = Int32(bytes.count)
        bytes.append(contentsOf: value)
        fields.append(Field(name: start..<middle, value: middle..<Int32(bytes.count)))
    }

    /// Takes over a line whose name ends at `colon` and whose value starts at `value`, to the line's end.
    mutating func append(line: UnsafeRawBufferPointer, colon: Int, value: Int) {
        let start = Int32(bytes.count)
        bytes.append(contentsOf: line)
        fields.append(
            Field(name: start..<start + Int32(colon), value: start + Int32(value)..<start + Int32(line.count)))
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
    func contains(_ name: String) -> Bool { fields.contains { matches($0.name, name) } }

    /// The only field of that name, when it is a plain number of up to 18 digits. nil says nothing: look closer.
    func plainNumber(_ name: String) -> Int64? {
        var found: Range<Int32>?
        for field in fields where matches(field.name, name) {
            guard found == nil else { return nil }
            found = field.value
        }
        guard let found, 1...18 ~= found.count else { return nil }
        var number: Int64 = 0
        for byte in bytes[Int(found.lowerBound)..<Int(found.upperBound)] {
            guard byte &- 0x30 < 10 else { return nil }
            number = number * 10 + Int64(byte - 0x30)
        }
        return number
    }

    private func matches(_ range: Range<Int32>, _ name: String) -> Bool {
        let utf8 = name.utf8
        guard utf8.count == range.count else { return false }
        var at = Int(range.lowerBound)
        for byte in utf8 {
            if bytes[at].asciiLowercased != byte.asciiLowercased { return false }
            at += 1
        }
        return true
    }

    private func text(_ range: Range<Int32>) -> String {
        let slice = bytes[Int(range.lowerBound)..<Int(range.upperBound)]
        return String(validating: slice, as: UTF8.self)
            ?? String(String.UnicodeScalarView(slice.lazy.map { Unicode.Scalar($0) }))
    }
}

extension UInt8 {
    var asciiLowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}
