/// A template for the file names of copies: text with fields in braces, such as `{stem}-{hash12}.{ext}`. A slash
/// separates folders.
///
/// A name never leads out of the directory, whatever the source is called. The value of a field has no slash and no
/// leading dot, and no component of the path is empty, `.` or `..`. No component begins with `-`, which programs would
/// read as an option.
public struct OutputTemplate: Sendable {
    /// The reason why a template is invalid.
    public struct Problem: Error, Sendable {
        /// The reason, in one clause.
        public let message: String
    }

    /// The values of the fields.
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
        /// The given number of digits of the key's hash.
        case hash(Int)
    }

    enum Piece: Equatable {
        case text(String)
        case field(Field)
    }

    let pieces: [Piece]

    /// The default template: `{stem}-{hash12}.{ext}`.
    public static let standard = OutputTemplate(
        pieces: [.field(.stem), .text("-"), .field(.hash(12)), .text("."), .field(.ext)])
    /// The default template for variants: `{stem}-{hash12}-{variant}.{ext}`.
    public static let standardOfVariants = OutputTemplate(
        pieces: [.field(.stem), .text("-"), .field(.hash(12)), .text("-"), .field(.variant), .text("."), .field(.ext)])

    private init(pieces: [Piece]) { self.pieces = pieces }

    /// Parses a template.
    public init(_ text: String) throws(Problem) {
        var pieces: [Piece] = []
        var rest = text[...]
        while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            if open > rest.startIndex { pieces.append(.text(String(rest[..<open]))) }
            guard rest[open] == "{", let close = rest[open...].firstIndex(of: "}") else {
                throw Problem(message: "it has an unmatched brace")
            }
            pieces.append(.field(try Self.field(String(rest[rest.index(after: open)..<close]))))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { pieces.append(.text(String(rest))) }
        guard pieces.contains(where: { if case .field = $0 { true } else { false } }) else {
            throw Problem(message: "it has no field, so every image would get the same name")
        }
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) else {
            throw Problem(message: "it has a control character")
        }
        for part in Self.parts(text) {
            guard !["", ".", ".."].contains(part) else {
                throw Problem(message: "it must stay inside the directory and have no empty path components")
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
                message: "unknown field {\(name)}; the fields are {stem}, {ext}, {host}, {hash}, {hash12}, {index}, "
                    + "{width}, {height}, {format} and {variant}")
        }
    }

    /// Whether names are unique without being remembered. 48 bits of a hash are regarded as unique.
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

    /// Returns the name; nil if it is not a valid path in the directory.
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

    /// Splits at scalars: a slash with a combining accent is another Character, and still a slash for the file system.
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
