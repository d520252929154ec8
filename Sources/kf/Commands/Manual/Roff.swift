/// Text in the macros of man(7).
struct Roff {
    private(set) var text = ""

    mutating func macro(_ name: String, _ arguments: String...) {
        let quoted = arguments.map { " \"\($0.replacing("\\", with: "\\e").replacing("\"", with: "\\(dq"))\"" }
        text += ".\(name)\(quoted.joined())\n"
    }

    /// A paragraph, broken anywhere.
    mutating func line(_ text: String) {
        for part in TextColumns.wrapped(text, to: 72) { verbatim(part) }
    }

    private mutating func verbatim(_ line: String) {
        let escaped = Self.escaped(line)
        text += (escaped.first == "." || escaped.first == "'" ? "\\&" : "") + escaped + "\n"
    }

    /// A term in bold, and below it what it means.
    mutating func item(_ term: String, _ paragraphs: String...) {
        text += ".TP\n\\fB\(Self.escaped(term))\\fR\n"
        for (index, paragraph) in paragraphs.enumerated() {
            if index > 0 { text += ".IP\n" }
            line(paragraph)
        }
    }

    /// Lines as they are.
    mutating func example(_ lines: [String]) {
        text += ".PP\n.RS 4\n.nf\n"
        for part in lines { verbatim(part) }
        text += ".fi\n.RE\n"
    }

    /// A hyphen of an option stays a minus that can be copied.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "~": result += "\\(ti"
            case "^": result += "\\(ha"
            case "`": result += "\\(ga"
            case "…": result += "..."
            default: result.append(character)
            }
        }
        return result
    }
}
