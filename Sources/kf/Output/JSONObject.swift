import KFCore

/// One JSON object on one line, its members in the order in which they are added.
struct JSONObject {
    private var text = "{"

    init() {}

    /// The object so far, closed.
    var line: String { text + "}" }

    mutating func add(_ name: String, _ value: String?) { member(name, value.map(Self.quoted)) }

    mutating func add(_ name: String, _ value: (some BinaryInteger)?) { member(name, value.map { "\($0)" }) }

    mutating func add(_ name: String, _ value: Bool) { member(name, value ? "true" : "false") }

    mutating func add(_ name: String, _ value: JSONObject?) { member(name, value?.line) }

    mutating func add(_ name: String, _ values: [JSONObject]) {
        member(name, "[" + values.map(\.line).joined(separator: ",") + "]")
    }

    mutating func add(_ name: String, strings: [String]) {
        member(name, "[" + strings.map(Self.quoted).joined(separator: ",") + "]")
    }

    /// In seconds, to the microsecond.
    mutating func add(_ name: String, seconds duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let fraction = String(attoseconds / 1_000_000_000_000)
        member(name, "\(seconds)." + String(repeating: "0", count: 6 - fraction.count) + fraction)
    }

    private mutating func member(_ name: String, _ value: String?) {
        if text.utf8.count > 1 { text += "," }
        text += "\"\(name)\":\(value ?? "null")"
    }

    /// Characters that could fool a terminal are escaped, which a reader of JSON undoes.
    private static func quoted(_ value: String) -> String {
        if VisibleText.isPlain(value), !value.utf8.contains(where: { $0 == 0x22 || $0 == 0x5c }) {
            return "\"\(value)\""
        }
        var result = "\""
        for scalar in RawText.percentEscaped(value).unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where !VisibleText.isHarmless(scalar):
                for unit in String(scalar).utf16 { result += "\\u\(VisibleText.hexadecimal(UInt32(unit), 4))" }
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
