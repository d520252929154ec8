/// Header fields kept as text, a line each with its name in lower case: what the index remembers of a response.
struct HeaderLines: Sendable, Equatable {
    private(set) var text: String

    init(_ text: String?) { self.text = text ?? "" }

    init(_ fields: [(name: String, value: String)]) {
        text = fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
    }

    var isEmpty: Bool { text.isEmpty }

    /// Every value under a lower-case name, in order.
    func all(_ name: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard line.starts(with: name.utf8) else { return nil }
            let rest = line.dropFirst(name.utf8.count)
            return rest.first == UInt8(ascii: ":") ? Self.trimmed(Substring(rest.dropFirst())) : nil
        }
    }

    /// The lines of `newer` in place of those that carry the same names: what RFC 9111 (3.2) makes of a 304.
    func updated(by newer: HeaderLines) -> HeaderLines {
        let lines = newer.text.split(separator: "\n")
        let names = Set(lines.map(Self.name))
        let kept = text.split(separator: "\n").filter { !names.contains(Self.name($0)) }
        return HeaderLines((kept + lines).joined(separator: "\n"))
    }

    private static let statusName = "kf-status"

    /// Of the response that the lines come from; 200 unless the lines say another one.
    var status: Int { all(Self.statusName).first.flatMap { Int($0) } ?? 200 }

    /// The same lines, of a response with that status. An image that came in parts or was confirmed keeps its own.
    func of(status: Int) -> HeaderLines {
        [200, 206, 304].contains(status) ? self : updated(by: HeaderLines([(Self.statusName, "\(status)")]))
    }

    private static func name(_ line: Substring) -> Substring { line.prefix { $0 != ":" } }

    /// Without white space around it.
    static func trimmed(_ text: Substring) -> Substring {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        let start = text.drop(while: isBlank)
        guard let last = start.lastIndex(where: { !isBlank($0) }) else { return "" }
        return start[...last]
    }
}
