/// The directives of Cache-Control that matter to a private cache (RFC 9111, 5.2.2).
struct CacheControl: Equatable {
    var noStore = false
    var noCache = false
    var mustRevalidate = false
    /// Whether the response may be stored only if the cache understands its status. `noStore` is ignored then.
    var mustUnderstand = false
    /// Whether the response may be stored regardless of its status.
    var isPublic = false
    /// Whether the response, or some of its fields, may be stored by private caches only.
    var isPrivate = false
    /// The max-age in seconds; nil if absent, 0 (stale) if malformed. Of several values the smallest counts.
    var maxAge: Int64?
    /// The stale-if-error time in seconds (RFC 5861).
    var staleIfError: Int64?
    /// The stale-while-revalidate time in seconds (RFC 5861).
    var staleWhileRevalidate: Int64?

    init(_ values: [some StringProtocol]) {
        for value in values {
            let text = String(value)
            for directive in split(text) { take(directive.name, directive.argument) }
            for word in Self.words(of: text) { restrict(word) }
        }
    }

    /// Takes a restriction. It counts wherever its word stands, so that damage beside it makes no response more public.
    private mutating func restrict(_ word: Substring) {
        switch word {
        case "no-store": noStore = true
        // With field names it restricts only those fields. Revalidating is right in that case too.
        case "no-cache": noCache = true
        case "must-revalidate": mustRevalidate = true
        case "private": isPrivate = true
        default: break
        }
    }

    /// Returns the words of letters and hyphens, in lower case.
    private static func words(of text: String) -> [Substring] {
        text.lowercased().split { !($0.isASCII && $0.isLetter || $0 == "-") }
    }

    private mutating func take(_ name: String, _ argument: String?) {
        switch name {
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

    /// Parses digits. Larger values count as 2^31, as the RFC says.
    static func seconds(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return min(Int64(text) ?? .max, 1 << 31)
    }

    /// Splits `a, b=c, d="e, f"` into directives, with names in lower case and without quotes.
    /// A quote that does not end hides what follows, so the response is stale then.
    private mutating func split(_ text: String) -> [(name: String, argument: String?)] {
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
        if isQuoted { maxAge = 0 }
        return parts
    }
}

/// The members of a header field that is a list, in a normal form.
///
/// Repeated fields form one list, and white space around members is ignored (RFC 9110, 5.3 and 5.6.1). In fields that
/// state preferences, the order of members, the case of names and a weight of 1 are ignored as well (12.5).
enum FieldMembers {
    private static let preferences: Set<String> = [
        "accept", "accept-charset", "accept-encoding", "accept-language",
    ]

    /// Returns the members in normal form. `name` is in lower case.
    static func normalised(_ values: [String], of name: String) -> [String] {
        let members = list(values)
        guard preferences.contains(name) else { return members }
        return Set(members.map(preference)).sorted()
    }

    /// Returns the members of repeated fields in order, each once.
    static func list(_ values: [String]) -> [String] {
        var known: Set<String> = [""]
        return values.flatMap { split($0[...], at: ",") }.map { String(HeaderLines.trimmed($0)) }
            .filter { known.insert($0).inserted }
    }

    /// Returns `Text/HTML ; Q=1.0` as `text/html`. The values of other parameters keep their case.
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

    /// Splits at separators outside quotes.
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
