/// The directives of Cache-Control (RFC 9111, 5.2.2) that a private cache has to know.
struct CacheControl: Equatable {
    var noStore = false
    var noCache = false
    var mustRevalidate = false
    /// The response may be kept only if the cache knows what its status means; `noStore` does not count then.
    var mustUnderstand = false
    /// The response may be kept, whatever its status.
    var isPublic = false
    /// In seconds. Nil when there is none; 0, which is to say stale, when it is malformed or said in two ways.
    var maxAge: Int64?
    /// RFC 5861, in seconds.
    var staleIfError: Int64?
    /// RFC 5861, in seconds.
    var staleWhileRevalidate: Int64?

    init(_ values: [some StringProtocol]) {
        for value in values {
            for directive in Self.split(String(value)) { take(directive.name, directive.argument) }
        }
    }

    private mutating func take(_ name: String, _ argument: String?) {
        switch name {
        case "no-store": noStore = true
        // With field names it forbids those fields alone; to ask again is right in that case too.
        case "no-cache": noCache = true
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "public": isPublic = true
        case "max-age":
            let seconds = argument.flatMap(Self.seconds) ?? 0
            maxAge = maxAge.map { min($0, seconds) } ?? seconds
        case "stale-if-error": staleIfError = argument.flatMap(Self.seconds)
        case "stale-while-revalidate": staleWhileRevalidate = argument.flatMap(Self.seconds)
        default: break
        }
    }

    /// Digits alone; what no clock will live to see counts as 2^31, as the RFC says.
    static func seconds(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return min(Int64(text) ?? .max, 1 << 31)
    }

    /// `a, b=c, d="e, f"` in parts; names in lower case, quotes taken off.
    private static func split(_ text: String) -> [(name: String, argument: String?)] {
        var parts: [(String, String?)] = []
        var name = ""
        var argument: String?
        var isQuoted = false
        var isEscaped = false
        func end() {
            let trimmed = name.filter { $0 != " " && $0 != "\t" }.lowercased()
            if !trimmed.isEmpty { parts.append((trimmed, argument)) }
            name = ""
            argument = nil
        }
        for character in text {
            switch character {
            case _ where isEscaped:
                argument?.append(character)
                isEscaped = false
            case "\\" where isQuoted: isEscaped = true
            case "\"": isQuoted.toggle()
            case "," where !isQuoted: end()
            case "=" where !isQuoted && argument == nil: argument = ""
            case " ", "\t": if isQuoted { argument?.append(character) }
            default: if argument == nil { name.append(character) } else { argument?.append(character) }
            }
        }
        end()
        return parts
    }
}

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
