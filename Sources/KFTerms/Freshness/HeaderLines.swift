/// The header fields that the index records about a response: one line each, with the name in lower case.
package struct HeaderLines: Sendable, Equatable {
    package private(set) var text: String

    package init(_ text: String?) { self.text = text ?? "" }

    package init(_ fields: [(name: String, value: String)]) {
        text = fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
    }

    package var isEmpty: Bool { text.isEmpty }

    /// Returns all values of a field in order. `name` is in lower case.
    package func all(_ name: String) -> [Substring] {
        let (bytes, span, name) = (text.utf8, text.utf8.span, name.utf8.span)
        var values: [Substring] = []
        var start = 0
        while start + name.count < span.count {
            let colon = start + name.count
            let isSought = span[colon] == UInt8(ascii: ":") && name.indices.allSatisfy { span[start + $0] == name[$0] }
            let end = (start..<span.count).first { span[$0] == UInt8(ascii: "\n") } ?? span.count
            if isSought {
                let value = bytes.index(bytes.startIndex, offsetBy: colon + 1)
                values.append(text[value..<bytes.index(bytes.startIndex, offsetBy: end)].trimmingBlanks)
            }
            start = end + 1
        }
        return values
    }

    /// Returns these lines with those of `newer` in place of fields with the same names, as RFC 9111 (3.2) requires for
    /// a 304.
    package func updated(by newer: HeaderLines) -> HeaderLines {
        let lines = newer.text.split(separator: "\n")
        let names = Set(lines.map(Self.name))
        let kept = text.split(separator: "\n").filter { !names.contains(Self.name($0)) }
        return HeaderLines((kept + lines).joined(separator: "\n"))
    }

    /// The lines that kf adds to the fields of a response.
    package enum Note: String {
        case status = "kf-status"
        /// A field of the last response behind redirects.
        case own = "kf-own"
        case timed = "kf-timed"
        case leftOut = "kf-left-out"
        case vary = "kf-vary"
        case url = "kf-url"
        /// The request identified a user, which a named key does not say.
        case personal = "kf-personal"
        case image = "kf-image"
        case dhash = "kf-dhash"
    }

    /// The value of kf's own line; nil if there is none.
    package subscript(note: Note) -> Substring? { all(note.rawValue).first }

    /// Returns the lines with kf's own line; these lines if `value` is nil.
    package func noting(_ note: Note, _ value: String?) -> HeaderLines {
        value.map { updated(by: HeaderLines([(note.rawValue, $0)])) } ?? self
    }

    /// The status of the response; 200 unless a line states another one.
    package var status: Int { self[.status].flatMap { Int($0) } ?? 200 }

    /// Returns the lines with a status. 200, 206 and 304 leave the recorded status unchanged.
    func of(status: Int) -> HeaderLines {
        [200, 206, 304].contains(status) ? self : noting(.status, "\(status)")
    }

    /// Whether `negativeTimeToLive` set the end of freshness, and not the server.
    package var isTimed: Bool { self[.timed] != nil }

    /// Returns the lines of a response whose end of freshness `negativeTimeToLive` set.
    package var timed: HeaderLines { noting(.timed, "1") }

    /// Whether a line is a field of the response, or its status; the other lines describe a request or the end of freshness.
    static func isOfResponse(_ line: Substring) -> Bool { !line.hasPrefix("kf-") || name(line) == Note.status.rawValue }

    private static func name(_ line: Substring) -> Substring { line.prefix { $0 != ":" } }
}
