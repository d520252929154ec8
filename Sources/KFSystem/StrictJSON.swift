/// A JSON value, strictly after RFC 8259. Meant for one line of a list, not for documents.
///
/// SQLite's own functions, which are linked anyway, are less strict. They accept half a surrogate pair, cut text at
/// `\u0000`, and silently keep the first of two equal members. Each of these could fetch something other than the list
/// names.
package enum StrictJSON: Equatable, Sendable {
    case null
    case bool(Bool)
    /// The number as it was written.
    case number(String)
    case string(String)
    case array([StrictJSON])
    case object([Member])

    package struct Member: Equatable, Sendable {
        package let name: String
        package let value: StrictJSON

        package init(name: String, value: StrictJSON) {
            self.name = name
            self.value = value
        }
    }

    package struct Problem: Error {
        package let message: String
    }

    package static let deepest = 16

    /// Parses one value with nothing behind it.
    ///
    /// Arrays and objects nested deeper than `keptDepth` are returned empty: a line of brackets and commas would take
    /// 60 times its length.
    package static func parse(
        _ bytes: [UInt8], keptDepth: Int = deepest, deepest: Int = deepest
    ) throws(Problem) -> StrictJSON {
        var reader = JSONReader(bytes: bytes, keptDepth: keptDepth, deepest: deepest)
        return try reader.parse()
    }

    /// The member of an object; nil if there is none.
    package subscript(_ name: String) -> StrictJSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    package var string: String? { if case .string(let text) = self { text } else { nil } }

    package var int: Int? { if case .number(let text) = self { Int(text) } else { nil } }
}

private struct JSONReader {
    let bytes: [UInt8]
    /// Values nested deeper than this are checked and not kept.
    let keptDepth: Int
    /// Values nested deeper than this are refused.
    let deepest: Int
    var index = 0

    mutating func parse() throws(StrictJSON.Problem) -> StrictJSON {
        let result = try value(depth: 0)
        skipSpace()
        guard index == bytes.count else { throw problem("unexpected text after the value") }
        return result
    }

    private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

    private func problem(_ text: String) -> StrictJSON.Problem {
        StrictJSON.Problem(message: "not JSON: \(text) (byte \(index + 1))")
    }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x09 || byte == 0x0d || byte == 0x0a { index += 1 }
    }

    private mutating func skip(_ text: String) throws(StrictJSON.Problem) {
        guard bytes[index...].starts(with: text.utf8) else { throw problem("expected \(text)") }
        index += text.utf8.count
    }

    private mutating func word(_ text: String, _ value: StrictJSON) throws(StrictJSON.Problem) -> StrictJSON {
        try skip(text)
        return value
    }

    private mutating func value(depth: Int) throws(StrictJSON.Problem) -> StrictJSON {
        guard depth <= deepest else { throw problem("nested too deeply") }
        skipSpace()
        switch byte {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case let digit? where digit == UInt8(ascii: "-") || Self.isDigit(digit): return .number(try number())
        case nil: throw problem("unexpected end")
        default: throw problem("expected a value")
        }
    }

    private mutating func object(depth: Int) throws(StrictJSON.Problem) -> StrictJSON {
        var members: [StrictJSON.Member] = []
        var names: Set<String> = []
        try forEachItem(until: UInt8(ascii: "}")) { reader throws(StrictJSON.Problem) in
            reader.skipSpace()
            guard reader.byte == UInt8(ascii: "\"") else { throw reader.problem("expected a member's name") }
            let name = try reader.string()
            guard names.insert(name).inserted else { throw reader.problem("duplicate member \"\(name)\"") }
            reader.skipSpace()
            try reader.skip(":")
            let member = StrictJSON.Member(name: name, value: try reader.value(depth: depth + 1))
            if depth <= reader.keptDepth { members.append(member) }
        }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(StrictJSON.Problem) -> StrictJSON {
        var values: [StrictJSON] = []
        try forEachItem(until: UInt8(ascii: "]")) { reader throws(StrictJSON.Problem) in
            let element = try reader.value(depth: depth + 1)
            if depth <= reader.keptDepth { values.append(element) }
        }
        return .array(values)
    }

    /// Skips a bracket, calls `read` for each item behind it, and skips the commas between them and the end.
    private mutating func forEachItem(
        until end: UInt8, _ read: (inout JSONReader) throws(StrictJSON.Problem) -> Void
    ) throws(StrictJSON.Problem) {
        index += 1
        skipSpace()
        var isOver = byte == end
        if isOver { index += 1 }
        while !isOver {
            try read(&self)
            skipSpace()
            guard let byte else { throw problem("unexpected end") }
            guard byte == end || byte == UInt8(ascii: ",") else { throw problem("expected a comma") }
            index += 1
            isOver = byte == end
        }
    }

    private mutating func number() throws(StrictJSON.Problem) -> String {
        let start = index
        if byte == UInt8(ascii: "-") { index += 1 }
        if byte == UInt8(ascii: "0") { index += 1 } else { try digits() }
        if byte == UInt8(ascii: ".") {
            index += 1
            try digits()
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            index += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func digits() throws(StrictJSON.Problem) {
        guard let byte, Self.isDigit(byte) else { throw problem("expected a digit") }
        while let byte = self.byte, Self.isDigit(byte) { index += 1 }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private mutating func string() throws(StrictJSON.Problem) -> String {
        index += 1
        var text: [UInt8] = []
        while true {
            let rest = bytes[index...]
            let plain = rest.prefix { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
            index = plain.endIndex
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                return PercentCoding.text(text.isEmpty ? plain : (text + plain)[...])
            case UInt8(ascii: "\\"):
                text += plain
                try escape(&text)
            case nil: throw problem("unterminated string")
            default: throw problem("control character in a string")
            }
        }
    }

    private mutating func escape(_ text: inout [UInt8]) throws(StrictJSON.Problem) {
        index += 1
        guard let byte else { throw problem("unterminated string") }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += String(try scalar()).utf8
        default: throw problem("unknown escape")
        }
    }

    private mutating func scalar() throws(StrictJSON.Problem) -> Unicode.Scalar {
        var code = try fourDigits()
        if (0xd800..<0xdc00).contains(code) {
            try skip("\\u")
            let low = try fourDigits()
            guard (0xdc00..<0xe000).contains(low) else { throw problem("unpaired surrogate") }
            code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
        }
        guard let scalar = Unicode.Scalar(code) else { throw problem("unpaired surrogate") }
        return scalar
    }

    private mutating func fourDigits() throws(StrictJSON.Problem) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let byte, byte < 0x80, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw problem("expected four hexadecimal digits")
            }
            code = code << 4 + UInt32(clamping: digit)
            index += 1
        }
        return code
    }
}
