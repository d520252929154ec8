/// How copies in a directory are named: text with fields in braces, `{stem}-{hash12}.{ext}`. A slash parts folders.
///
/// Whatever a source calls itself, the name never leads out of the directory: what a field gives has no slash and no dot
/// in front, and no part of a path is empty, `.` or `..`. No part starts with `-`, which programs would take for an
/// option.
public struct OutputTemplate: Sendable {
    /// Why a template cannot be used, in words.
    public struct Problem: Error, Sendable {
        /// What is wrong, in one clause.
        public let message: String
    }

    /// What the fields stand for.
    struct Values {
        var stem = ""
        var host = ""
        /// 64 hexadecimal digits.
        var hash = ""
        var number = 0
        var variant: String?
        var facts: ImageFacts
    }

    enum Field: Equatable {
        case stem, ext, host, index, width, height, format, variant
        /// So many digits of the key's hash.
        case hash(Int)
    }

    enum Piece: Equatable {
        case text(String)
        case field(Field)
    }

    let pieces: [Piece]

    /// The source's own name, 12 digits of the key's hash, the extension of what it is; a variant has its name between.
    public static let standard = OutputTemplate(
        pieces: [.field(.stem), .text("-"), .field(.hash(12)), .text("."), .field(.ext)])
    /// The same where one source has several images: `{stem}-{hash12}-{variant}.{ext}`.
    public static let standardOfVariants = OutputTemplate(
        pieces: [.field(.stem), .text("-"), .field(.hash(12)), .text("-"), .field(.variant), .text("."), .field(.ext)])

    private init(pieces: [Piece]) { self.pieces = pieces }

    /// Reads a template; throws what is wrong with it.
    public init(_ text: String) throws(Problem) {
        var pieces: [Piece] = []
        var rest = text[...]
        while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            if open > rest.startIndex { pieces.append(.text(String(rest[..<open]))) }
            guard rest[open] == "{", let close = rest[open...].firstIndex(of: "}") else {
                throw Problem(message: "a brace stands alone")
            }
            pieces.append(.field(try Self.field(String(rest[rest.index(after: open)..<close]))))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { pieces.append(.text(String(rest))) }
        guard pieces.contains(where: { if case .field = $0 { true } else { false } }) else {
            throw Problem(message: "it has no field, so that every image would have the same name")
        }
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) else {
            throw Problem(message: "it has a control character")
        }
        for part in Self.parts(text) {
            guard !["", ".", ".."].contains(part) else {
                throw Problem(message: "it may not lead out of the directory, nor have empty parts")
            }
            guard part.unicodeScalars.first != "-" else {
                throw Problem(message: "a name that starts with - would be taken for an option")
            }
        }
        self.pieces = pieces
    }

    private static func field(_ name: String) throws(Problem) -> Field {
        switch name {
        case "stem": return .stem
        case "ext": return .ext
        case "host": return .host
        case "index": return .index
        case "width": return .width
        case "height": return .height
        case "format": return .format
        case "variant": return .variant
        case "hash": return .hash(64)
        default:
            if name.hasPrefix("hash"), let digits = Int(name.dropFirst(4)), (1...64).contains(digits) {
                return .hash(digits)
            }
            throw Problem(
                message: "there is no field {\(name)}, but {stem}, {ext}, {host}, {hash}, {hash12}, {index}, {width}, "
                    + "{height}, {format} and {variant}")
        }
    }

    /// The name alone tells one source from every other; for the practical purposes of 48 bits.
    var isDistinct: Bool {
        pieces.contains { piece in
            switch piece {
            case .field(.index): true
            case .field(.hash(let digits)): digits >= 12
            default: false
            }
        }
    }

    var hasVariant: Bool { pieces.contains(.field(.variant)) }

    /// Nil when the name would be none of a file in the directory.
    func name(_ values: Values) -> String? {
        let name = pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .field(let field): Self.text(field, values)
            }
        }.joined()
        let parts = Self.parts(name)
        guard !parts.contains(where: { ["", ".", ".."].contains($0) }) else { return nil }
        return parts.map { part in
            part.unicodeScalars.first == "-" ? "_" + String(part.unicodeScalars.dropFirst()) : part
        }.joined(separator: "/")
    }

    /// By scalars: with an accent on it, a slash is another Character and the same byte.
    private static func parts(_ path: String) -> [String] {
        path.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
    }

    private static func text(_ field: Field, _ values: Values) -> String {
        switch field {
        case .stem: OutputName.safe(values.stem)
        case .ext: values.facts.format.fileExtension
        case .host: values.host.isEmpty ? "local" : OutputName.safe(values.host)
        case .hash(let digits): String(values.hash.prefix(digits))
        case .index: "\(values.number)"
        case .width: "\(values.facts.width ?? 0)"
        case .height: "\(values.facts.height ?? 0)"
        case .format: values.facts.format.rawValue
        case .variant: values.variant.map(OutputName.safe) ?? ""
        }
    }
}
