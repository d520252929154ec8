/// One line of the config file, taken apart.
struct ConfigLine {
    /// Without the dashes that may lead it.
    let name: String
    /// Nil when the name stands alone.
    let value: String?

    /// Nil when the line is blank or a comment.
    init?(_ line: Substring) throws(UsageError) {
        let line = Self.trimmed(line)
        guard let first = line.first, first != "#" else { return nil }
        let bare = line.hasPrefix("--") ? line.dropFirst(2) : line
        let name = bare.prefix { !Self.isSpace($0) && $0 != "=" && $0 != ":" }
        self.name = String(name)
        var rest = Self.trimmed(bare.dropFirst(name.count))
        let hasMark = rest.first == "=" || rest.first == ":"
        if hasMark { rest = Self.trimmed(rest.dropFirst()) }
        if rest.first == "\"" {
            value = try Self.quoted(rest.dropFirst())
        } else {
            rest = Self.withoutComment(rest)
            value = rest.isEmpty && !hasMark ? nil : String(rest)
        }
    }

    private static func isSpace(_ character: Character) -> Bool {
        character == " " || character == "\t" || character == "\r" || character == "\r\n"
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }

    private static func withoutComment(_ text: Substring) -> Substring {
        var before: Character = " "
        for index in text.indices {
            if text[index] == "#", isSpace(before) { return trimmed(text[..<index]) }
            before = text[index]
        }
        return text
    }

    private static func quoted(_ text: Substring) throws(UsageError) -> String {
        var result = ""
        var rest = text
        while let character = rest.popFirst() {
            switch character {
            case "\"":
                let behind = withoutComment(trimmed(rest))
                guard behind.isEmpty else { throw UsageError(message: "there is text behind the closing quote") }
                return result
            case "\\":
                guard let escaped = rest.popFirst() else { break }
                switch escaped {
                case "n": result += "\n"
                case "t": result += "\t"
                case "\"", "\\": result.append(escaped)
                default: throw UsageError(message: "'\\\(escaped)' means nothing here; there are \\\" \\\\ \\n \\t")
                }
            default: result.append(character)
            }
        }
        throw UsageError(message: "a closing quote is missing")
    }
}
