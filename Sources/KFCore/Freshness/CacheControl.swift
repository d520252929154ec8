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
