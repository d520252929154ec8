/// A value that can be a member of a JSON object.
package protocol JSONValue: SendableMetatype {
    func append(to text: inout String)
}

extension JSONValue {
    package var json: String {
        var text = ""
        append(to: &text)
        return text
    }
}

extension Bool: JSONValue { package func append(to text: inout String) { text += self ? "true" : "false" } }
extension Int: JSONValue { package func append(to text: inout String) { text += String(self) } }
extension Int64: JSONValue { package func append(to text: inout String) { text += String(self) } }

extension Optional: JSONValue where Wrapped: JSONValue {
    package func append(to text: inout String) {
        if let self { self.append(to: &text) } else { text += "null" }
    }
}

extension Array: JSONValue where Element: JSONValue {
    package func append(to text: inout String) {
        text += "["
        for index in indices {
            if index > startIndex { text += "," }
            self[index].append(to: &text)
        }
        text += "]"
    }
}

extension Duration: JSONValue {
    /// The seconds, to the microsecond.
    package func append(to text: inout String) {
        text += String(components.seconds)
        text += "."
        text += (components.attoseconds / 1_000_000_000_000).digits(6)
    }
}

extension String: JSONValue {
    /// The text in quotes. Characters that could mislead a terminal are escaped, and every JSON parser restores them.
    package func append(to text: inout String) {
        text += "\""
        if hasOnlyPlainASCII { text += self } else { appendEscaped(to: &text) }
        text += "\""
    }

    /// Whether all characters are visible ASCII that JSON has as it is.
    private var hasOnlyPlainASCII: Bool {
        func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte < 0x7f && byte != 0x22 && byte != 0x5c }
        return utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isPlain) } ?? utf8.allSatisfy(isPlain)
    }

    private func appendEscaped(to text: inout String) {
        for scalar in RawText.percentEscaped(self).unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where !VisibleText.isHarmless(scalar):
                for unit in String(scalar).utf16 { text += "\\u\(unit.digits(4, radix: 16))" }
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

extension StrictJSON: JSONValue {
    package func append(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): value.append(to: &text)
        case .number(let number): text += number
        case .string(let string): string.append(to: &text)
        case .array(let values): values.append(to: &text)
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                member.name.append(to: &text)
                text += ":"
                member.value.append(to: &text)
            }
            text += "}"
        }
    }
}
