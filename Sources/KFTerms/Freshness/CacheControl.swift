import KFSystem

/// The directives of Cache-Control that matter to a private cache (RFC 9111, 5.2.2).
package struct CacheControl: Equatable {
    package var noStore = false
    var noCache = false
    var mustRevalidate = false
    /// Whether the response may be stored only if the cache understands its status. `noStore` is ignored then.
    var mustUnderstand = false
    /// Whether the response may be stored regardless of its status.
    var isPublic = false
    /// Whether the response, or some of its fields, may be stored by private caches only.
    package var isPrivate = false
    /// The max-age in seconds; nil if absent, 0 (stale) if malformed. Of several values the smallest counts.
    var maxAge: Int64?
    /// The stale-if-error time in seconds (RFC 5861).
    var staleIfError: Int64?
    /// The stale-while-revalidate time in seconds (RFC 5861).
    var staleWhileRevalidate: Int64?

    package init(_ values: [some StringProtocol]) {
        for value in values { take(Substring(value).utf8.span) }
    }

    /// Takes the directives of a field: `a, b=c, d="e, f"`.
    private mutating func take(_ value: Span<UInt8>) {
        var (name, word) = (Token(), Token())
        var argument: Seconds?
        var (isQuoted, isEscaped) = (false, false)
        for index in value.indices {
            let byte = value[index]
            byte | 0x20 &- 0x61 < 26 || byte == UInt8(ascii: "-") ? word.append(byte) : restrict(&word)
            switch byte {
            case _ where isEscaped:
                argument?.append(byte)
                isEscaped = false
            case UInt8(ascii: "\\") where isQuoted: isEscaped = true
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted: take(&name, &argument)
            case UInt8(ascii: "=") where !isQuoted && argument == nil: argument = Seconds()
            case 0x20, 0x09: if isQuoted { argument?.append(byte) }
            default: argument == nil ? name.append(byte) : argument?.append(byte)
            }
        }
        take(&name, &argument)
        restrict(&word)
        // A quote that does not end hides what follows, so the response is stale then.
        if isQuoted { maxAge = 0 }
    }

    /// Takes a restriction. It counts wherever its word stands, so that damage beside it makes no response more public.
    private mutating func restrict(_ word: inout Token) {
        if word.isEqual("no-store") { noStore = true }
        // With field names it restricts only those fields. Revalidating is right in that case too.
        if word.isEqual("no-cache") { noCache = true }
        if word.isEqual("must-revalidate") { mustRevalidate = true }
        if word.isEqual("private") { isPrivate = true }
        word = Token()
    }

    private mutating func take(_ name: inout Token, _ argument: inout Seconds?) {
        if name.isEqual("must-understand") { mustUnderstand = true }
        if name.isEqual("public") { isPublic = true }
        if name.isEqual("max-age") { maxAge = min(maxAge ?? .max, argument?.value ?? 0) }
        if name.isEqual("stale-if-error") { staleIfError = argument?.value }
        if name.isEqual("stale-while-revalidate") { staleWhileRevalidate = argument?.value }
        (name, argument) = (Token(), nil)
    }

    /// Parses digits. Larger values count as 2^31, as the RFC says.
    package static func seconds(_ text: some StringProtocol) -> Int64? {
        var seconds = Seconds()
        for byte in text.utf8 { seconds.append(byte) }
        return seconds.value
    }

    /// An argument as far as it has been read.
    private struct Seconds {
        private(set) var value: Int64?
        private var isNumber = true

        mutating func append(_ byte: UInt8) {
            isNumber = isNumber && byte &- 0x30 < 10
            value = isNumber ? min((value ?? 0) * 10 + Int64(byte - 0x30), 1 << 31) : nil
        }
    }

    /// A name in lower case as far as it has been read. No known name has more than 24 bytes.
    private struct Token {
        private var bytes = InlineArray<24, UInt8>(repeating: 0)
        private var count = 0

        mutating func append(_ byte: UInt8) {
            if count < bytes.count { bytes[count] = byte &- 0x41 < 26 ? byte | 0x20 : byte }
            count += 1
        }

        func isEqual(_ text: StaticString) -> Bool {
            count == text.utf8CodeUnitCount && (0..<count).allSatisfy { bytes[$0] == text.utf8Start[$0] }
        }
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
        return values.flatMap { FieldText.split($0[...], at: ",") }.map { String($0.trimmingBlanks) }
            .filter { known.insert($0).inserted }
    }

    /// Returns `Text/HTML ; Q=1.0` as `text/html`. The values of other parameters keep their case.
    private static func preference(_ member: String) -> String {
        var parts = FieldText.split(member[...], at: ";").map { String($0.trimmingBlanks) }
        parts[0] = parts[0].lowercased()
        for (index, part) in parts.enumerated().dropFirst() {
            guard let mark = part.firstIndex(of: "=") else { continue }
            let name = part[..<mark].trimmingBlanks.lowercased()
            var value = String(part[part.index(after: mark)...].trimmingBlanks)
            if name == "q", let dot = value.firstIndex(of: ".") {
                while value.last == "0" { value.removeLast() }
                if value.endIndex == value.index(after: dot) { value.removeLast() }
            }
            parts[index] = "\(name)=\(value)"
        }
        return parts.filter { !$0.isEmpty && $0 != "q=1" }.joined(separator: ";")
    }
}
