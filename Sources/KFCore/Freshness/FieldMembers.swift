/// The members of a header field that is a list, in a form in which equal meanings are equal texts.
///
/// Repeated fields are one list, and white space around its members means nothing (RFC 9110, 5.3 and 5.6.1). In the fields
/// that state preferences, neither do the order of members, the case of names, and a weight of 1 (12.5).
enum FieldMembers {
    private static let preferences: Set<String> = [
        "accept", "accept-charset", "accept-encoding", "accept-language",
    ]

    /// `name`: in lower case.
    static func normalised(_ values: [String], of name: String) -> [String] {
        let members = values.flatMap { split($0[...], at: ",") }.map { String(HeaderLines.trimmed($0)) }
            .filter { !$0.isEmpty }
        guard preferences.contains(name) else { return members }
        return Set(members.map(preference)).sorted()
    }

    /// `Text/HTML ; Q=1.0` as `text/html`. The case of parameters' values may matter.
    private static func preference(_ member: String) -> String {
        var parts = split(member[...], at: ";").map { String(HeaderLines.trimmed($0)) }
        parts[0] = parts[0].lowercased()
        for (index, part) in parts.enumerated().dropFirst() {
            guard let mark = part.firstIndex(of: "=") else { continue }
            let name = HeaderLines.trimmed(part[..<mark]).lowercased()
            var value = String(HeaderLines.trimmed(part[part.index(after: mark)...]))
            if name == "q", let dot = value.firstIndex(of: ".") {
                while value.last == "0" { value.removeLast() }
                if value.endIndex == value.index(after: dot) { value.removeLast() }
            }
            parts[index] = "\(name)=\(value)"
        }
        return parts.filter { !$0.isEmpty && $0 != "q=1" }.joined(separator: ";")
    }

    /// The parts between separators, those in quotes excepted.
    private static func split(_ text: Substring, at separator: Character) -> [Substring] {
        var parts: [Substring] = []
        var start = text.startIndex
        var isQuoted = false
        var isEscaped = false
        for index in text.indices {
            let character = text[index]
            if isEscaped {
                isEscaped = false
            } else if character == "\\" && isQuoted {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if character == separator && !isQuoted {
                parts.append(text[start..<index])
                start = text.index(after: index)
            }
        }
        return parts + [text[start...]]
    }
}
