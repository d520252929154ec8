import KFImaging
import KFSystem
import KFTerms

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

    /// The values of the fields that are known before an image is retrieved.
    package struct Names: Sendable {
        /// The name of the image at its source, with its extension, and without.
        package var name = ""
        package var stem = ""
        package var host = ""
        /// The folders of the URL's path, or of the local path below the given folder.
        package var folders: [String] = []
        package var number = 0
        package var columns: [String: String] = [:]
        package var variant: String?
        /// Whether names have only letters, digits, `-`, `_`, `.` and `+`.
        package var areSafe = false
        /// The extension that is expected.
        package var ending = unknown

        /// A mark that no name contains.
        package static let unknown = "\u{0}"

        package init() {}

        fileprivate var keptFolders: [String] { folders.map { OutputName.kept($0, areSafe) } }
    }

    /// The values of the other fields, which the retrieved image gives. `sha256` is that of the bytes, and `hash` the SHA-256
    /// of the bytes and the processing: 64 hexadecimal digits each.
    package typealias Findings = (facts: ImageFacts, sha256: String, hash: String)

    enum Field: Equatable {
        case stem, name, path, folder, ext, host, width, height, format, variant, sha256
        /// The number of the image, with at least the given number of digits.
        case index(digits: Int)
        /// The given number of digits of the hash of content and processing.
        case hash(Int)
        case column(String)
    }

    enum Piece: Equatable {
        case text(String)
        case field(Field)
    }

    let pieces: [Piece]

    /// The default template: `{stem}.{ext}`.
    public static let standard = OutputTemplate(pieces: [.field(.stem), .text("."), .field(.ext)])
    /// The default template for variants: `{stem}-{variant}.{ext}`.
    public static let standardOfVariants = OutputTemplate(
        pieces: [.field(.stem), .text("-"), .field(.variant), .text("."), .field(.ext)])
    /// The default template for images that differ in their width: `{stem}-{width}.{ext}`.
    public static let standardOfWidths = OutputTemplate(
        pieces: [.field(.stem), .text("-"), .field(.width), .text("."), .field(.ext)])

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

    private static let fields: [String: Field] = [
        "stem": .stem, "name": .name, "path": .path, "dir": .folder, "ext": .ext, "host": .host, "width": .width,
        "height": .height, "format": .format, "variant": .variant, "sha256": .sha256, "index": .index(digits: 1),
        "id": .column("id"), "hash": .hash(64),
    ]

    private static func field(_ name: String) throws(Problem) -> Field {
        if let field = fields[name] { return field }
        if name.hasPrefix("column:"), name.utf8.count > 7 { return .column(String(name.dropFirst(7))) }
        if name.hasPrefix("hash"), let digits = Int(name.dropFirst(4)), (1...64).contains(digits) {
            return .hash(digits)
        }
        if name.hasPrefix("index:"), let digits = Int(name.dropFirst(6)), (1...18).contains(digits) {
            return .index(digits: digits)
        }
        throw Problem(message: "unknown field {\(name)}; the fields are \(fieldList)")
    }

    private static let fieldList =
        "{stem}, {name}, {ext}, {dir}, {path}, {host}, {index}, {index:04}, {id}, {column:NAME}, {variant}, {width}, "
        + "{height}, {format}, {sha256}, {hash} and {hash8}"

    /// Whether different images have different names without any being remembered. 48 bits of a hash are regarded as
    /// unique.
    package var isDistinct: Bool {
        pieces.contains { piece in
            switch piece {
            case .field(.index), .field(.sha256): true
            case .field(.hash(let digits)): digits >= 12
            default: false
            }
        }
    }

    /// The columns of the list that the fields name.
    public var columns: [String] {
        pieces.compactMap { if case .field(.column(let name)) = $0 { name } else { nil } }
    }

    /// The format that the template's own extension names, such as WebP for `{stem}.webp`; nil if it names none.
    public var format: ImageFormat? {
        guard case .text(let text)? = pieces.last else { return nil }
        return OutputName.format(of: "x" + text)
    }

    /// Returns the name; nil if it is not a valid path in the directory. Without findings, marks that no name contains
    /// stand for what is not known yet. `suffix` follows the stem of the name.
    package func name(_ names: Names, _ found: Findings?, suffix: String = "") -> String? {
        var text = ""
        var hasEmptyFolder = false
        for piece in pieces {
            switch piece {
            // An image at the top has no folder.
            case .text(let part): text += hasEmptyFolder && part.utf8.first == 0x2f ? String(part.dropFirst()) : part
            case .field(let field): text += Self.text(field, names, found)
            }
            hasEmptyFolder = piece == .field(.folder) && names.folders.isEmpty
        }
        var parts = Self.parts(text)
        guard !parts.contains(where: { ["", ".", ".."].contains($0) }), let last = parts.popLast() else { return nil }
        parts.append(suffix.isEmpty ? last : Self.suffixed(last, suffix))
        return parts.map { part in
            part.unicodeScalars.first == "-" ? "_" + String(part.unicodeScalars.dropFirst()) : part
        }.joined(separator: "/")
    }

    /// Returns the name with the suffix before its extension.
    private static func suffixed(_ name: String, _ suffix: String) -> String {
        guard let dot = name.unicodeScalars.lastIndex(of: "."), dot != name.unicodeScalars.startIndex else {
            return name + suffix
        }
        return String(name.unicodeScalars[..<dot]) + suffix + String(name.unicodeScalars[dot...])
    }

    /// Splits at scalars: a slash with a combining accent is another Character, and still a slash for the file system.
    private static func parts(_ path: String) -> [String] {
        path.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
    }

    private static func text(_ field: Field, _ names: Names, _ found: Findings?) -> String {
        let text: String? =
            switch field {
            case .stem: OutputName.kept(names.stem, names.areSafe)
            case .name: OutputName.keptName(names.name, names.areSafe)
            case .path: (names.keptFolders + [OutputName.keptName(names.name, names.areSafe)]).joined(separator: "/")
            case .folder: names.keptFolders.joined(separator: "/")
            case .host: names.host.isEmpty ? "local" : OutputName.safe(names.host)
            case .index(let digits): names.number.digits(digits)
            case .column(let name): OutputName.kept(names.columns[name] ?? "", names.areSafe)
            case .variant: names.variant.map(OutputName.safe) ?? ""
            case .ext: found?.facts.format.fileExtension ?? names.ending
            case .width: found.map { "\($0.facts.width ?? 0)" }
            case .height: found.map { "\($0.facts.height ?? 0)" }
            case .format: found?.facts.format.rawValue
            case .sha256: found?.sha256
            case .hash(let digits): found.map { String($0.hash.prefix(digits)) }
            }
        return text ?? Names.unknown
    }
}

extension OutputTemplate {
    /// The names that the images of one source will have.
    public final class Claim: Sendable {
        package let names: Names
        /// The forms whose names an earlier source has.
        package let taken: Set<Int>
        /// The hash of the source's key if the copies are recorded.
        package let recorded: UInt64?

        package init(_ names: Names, taken: Set<Int>, recorded: UInt64?) {
            self.names = names
            self.taken = taken
            self.recorded = recorded
        }
    }
}
