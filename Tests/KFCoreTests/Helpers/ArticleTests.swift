import Foundation
import Support
import Testing

@Suite("Names in the articles")
struct ArticleTests {
    @Test("Every name in the README and the articles exists")
    func names() throws {
        let folder = PackageRoot.url.appendingPathComponent("Sources/KFCore/KFCore.docc")
        let articles = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "md" }
        #expect(articles.count > 8)
        let project = try Project()
        #expect(project.options.count > 60 && project.targets.count > 10)
        var count = 0
        // The first columns of their tables have the words of others.
        let others = ["FromKingfisher.md", "ComingFrom.md"]
        for article in articles + [PackageRoot.url.appendingPathComponent("README.md")] {
            let text = try String(contentsOf: article, encoding: .utf8)
            // Its first column has Kingfisher's names.
            let spans = codeSpans(in: text, skippingFirstColumn: others.contains(article.lastPathComponent))
            count += spans.count
            for span in spans {
                let problem = project.problem(with: span.text)
                #expect(problem == nil, "\(article.lastPathComponent):\(span.line): \(problem ?? "")")
            }
            for link in relativeLinks(in: text) {
                #expect(project.exists(link), "\(article.lastPathComponent): \(link) does not exist")
            }
        }
        #expect(count > 800)
    }

    @Test("A name that does not exist is found")
    func mistakes() throws {
        let project = try Project()
        let text = """
            Read `Sources/KFCore/KFCore.docc/` and `Tests/Nowhere/Never.swift`, then `ArticleTests.swift` or `Never.swift`.
            `make build` and `make bench BENCH=hit` are targets, `make coffee` is none; `--jobs 4`, `kf fetch --never`,
            `fetch -o x --no-json`, `swift test --filter X`.
            | `EntryKey` | `NeverType` | `EntryKey.places` | `EntryKey.never` | `DiskStorage.open(_:)` | `DiskStorage.open(_:never:)` |
            `ArticleTests.names`, `ArticleTests.never`, `NeverTests`, `retrieveImage(with:options:)`, `never(_:at:)`,
            `kf_curl_load`, `kf_never`, `ENOENT`, `Host`, `KFCoreTests`, `SHA256`, `a b`, ``AnySymbol``.
            ```
            `NotLookedAt` in a block
            ```
            """
        let problems = codeSpans(in: text).compactMap { span in project.problem(with: span.text).map { _ in span.text }
        }
        #expect(
            problems == [
                "Tests/Nowhere/Never.swift", "Never.swift", "make coffee", "kf fetch --never", "NeverType",
                "EntryKey.never", "DiskStorage.open(_:never:)", "ArticleTests.never", "NeverTests", "never(_:at:)",
                "kf_never",
            ])
        #expect(relativeLinks(in: "[a](Sources/b.md), [c](https://d/e), ![f](g.svg)") == ["Sources/b.md", "g.svg"])
    }
}

// MARK: Articles

private struct Span {
    let line: Int
    let text: String
}

/// The texts in single backticks, without those of code blocks. DocC itself checks double ones.
private func codeSpans(in article: String, skippingFirstColumn: Bool = false) -> [Span] {
    var spans: [Span] = []
    var isInBlock = false
    for (index, line) in article.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        if line.utf8.drop(while: { $0 == 0x20 }).starts(with: "```".utf8) { isInBlock.toggle() }
        if isInBlock { continue }
        var rest = line[...]
        if skippingFirstColumn, line.hasPrefix("| ") {
            rest = rest[(line.range(of: " | ")?.upperBound ?? line.endIndex)...]
        }
        while let start = rest.firstIndex(of: "`") {
            let ticks = rest[start...].prefix { $0 == "`" }
            guard let end = rest[ticks.endIndex...].range(of: ticks) else { break }
            if ticks.count == 1 {
                spans.append(Span(line: index + 1, text: String(rest[ticks.endIndex..<end.lowerBound])))
            }
            rest = rest[end.upperBound...]
        }
    }
    return spans
}

private func relativeLinks(in article: String) -> [String] {
    article.components(separatedBy: "](").dropFirst().compactMap { text in
        let target = text.prefix { $0 != ")" }
        return target.contains("://") || target.hasPrefix("#") ? nil : String(target)
    }
}

// MARK: The project

/// What an article may name.
private struct Project {
    private let sources = Declarations("Sources")
    private let tests = Declarations("Tests")
    let targets: Set<String>
    private let modules: Set<String>

    private static let roots = ["Sources/", "Tests/", "Fixtures/", ".ci/"]
    private static let codeExtensions: Set<String> = ["swift", "c", "h", "py", "sh", "md"]
    /// Types of other modules, header fields, and words of other tools.
    private static let foreign: Set<String> = [
        "Age", "CGSize", "Data", "Date", "Expires", "Foundation", "Host", "LocalizedError", "Mutex", "Range",
        "Sendable",
        "Synchronization", "Task", "Vary",
    ]
    private static let foreignCommands: Set<String> = ["curl", "git", "make", "swift"]
    /// What the command takes in place of a command.
    private static let ownWords: Set<String> = ["version"]

    init() throws {
        func text(_ name: String) throws -> String {
            try String(contentsOf: PackageRoot.url.appendingPathComponent(name), encoding: .utf8)
        }
        targets = Set(
            try text("Makefile").split(separator: "\n").compactMap { line in
                let name = line.prefix { $0.isLowercase }
                return !name.isEmpty && line[name.endIndex...].hasPrefix(":") ? String(name) : nil
            })
        modules = Set(
            try text("Package.swift").components(separatedBy: "name: \"").dropFirst().map { part in
                String(part.prefix { $0 != "\"" })
            })
    }

    var options: Set<String> { sources.options }

    func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: PackageRoot.url.appendingPathComponent(path).path)
    }

    /// What is wrong with a text in backticks; nil when all that it names exists, or it names nothing of the project.
    func problem(with span: String) -> String? {
        let words = span.split(separator: " ").map(String.init)
        guard let first = words.first else { return nil }
        if first == "make" { return words.dropFirst().lazy.compactMap(wrongTarget).first }
        if let file = words.first(where: isPath) { return wrongPath(file) }
        if Self.foreignCommands.contains(first) { return nil }
        if words.contains(where: { $0.hasPrefix("--") }) { return words.lazy.compactMap(wrongOption).first }
        return words.count == 1 ? wrongIdentifier(span) : nil
    }

    private func wrongTarget(_ word: String) -> String? {
        word.allSatisfy(\.isLowercase) && !targets.contains(word) ? "there is no make target \(word)" : nil
    }

    private func isPath(_ word: String) -> Bool {
        if Self.roots.contains(where: word.hasPrefix) || ["Makefile", "Package.swift"].contains(word) { return true }
        let parts = word.split(separator: ".")
        return parts.count == 2 && !word.hasPrefix(".") && Self.codeExtensions.contains(String(parts[1]))
            && parts[0].allSatisfy { $0.isLetter || $0.isNumber || "_+-".contains($0) }
    }

    private func wrongPath(_ path: String) -> String? {
        let isThere =
            path.contains("/") || path == "Makefile" || path == "Package.swift"
            ? exists(String(path.prefix { $0 != "*" }))
            : sources.fileNames.contains(path) || tests.fileNames.contains(path) || exists(path)
        return isThere ? nil : "\(path) does not exist"
    }

    private func wrongOption(_ word: String) -> String? {
        guard word.hasPrefix("--") else { return nil }
        let name = word.dropFirst(2).prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "." }
        let positive = name.hasPrefix("no-") ? name.dropFirst(3) : name
        let isKnown = [name, positive].contains { options.contains(String($0)) || Self.ownWords.contains(String($0)) }
        return isKnown || positive.isEmpty ? nil : "there is no option --\(name)"
    }

    private func wrongIdentifier(_ text: String) -> String? {
        if text.hasPrefix("kf_") { return sources.shims.contains(text) ? nil : "there is no function \(text)" }
        guard text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "_.:()".contains($0)) }) else {
            return nil
        }
        let parts = text.split(separator: ".").map(String.init)
        guard let type = parts.first, type.first?.isUppercase == true else {
            guard text.hasSuffix(":)"), parts.count == 1 else { return nil }
            return sources.hasFunction(text) || sources.hasInitializer(text) ? nil : "there is no function \(text)"
        }
        let name = String(type.prefix { $0 != "(" })
        // Names of variables and errors have capitals alone.
        guard name.contains(where: \.isLowercase) || sources.types.contains(name) else { return nil }
        if Self.foreign.contains(name) || modules.contains(name) { return nil }
        let declarations = sources.types.contains(name) ? sources : tests
        guard declarations.types.contains(name) else { return "there is no type \(name)" }
        if name.utf8.count < type.utf8.count {
            let initializer = "init" + type.dropFirst(name.count)
            return declarations.has(initializer, of: name) ? nil : "\(name) has no \(initializer)"
        }
        var owner = name
        for part in parts.dropFirst() {
            guard declarations.has(part, of: owner) else { return "\(owner) has no \(part)" }
            if part.first?.isUppercase == true { owner = part }
        }
        return nil
    }
}

// MARK: Declarations

/// The declarations in a folder's sources, found by their keywords. Scopes are not looked at: a member belongs to every
/// type that its file declares or extends.
private struct Declarations {
    private struct File {
        var owners: Set<String> = []
        /// Names, and for functions also full names, such as `open(_:)`.
        var members: Set<String> = []
    }

    private(set) var types: Set<String> = []
    private(set) var fileNames: Set<String> = []
    /// The names of options: the texts behind `Option(`, and behind its forms.
    private(set) var options: Set<String> = []
    /// The words in C that begin with `kf_`.
    private(set) var shims: Set<String> = []
    private var functions: Set<String> = []
    private var initializers: Set<String> = []
    private var files: [File] = []
    /// The files of each type.
    private var places: [String: [Int]] = [:]

    init(_ folder: String) {
        let root = PackageRoot.url.appendingPathComponent(folder)
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        for case let file as URL in files ?? .init() {
            fileNames.insert(file.lastPathComponent)
            guard ["swift", "h", "c"].contains(file.pathExtension), var bytes = try? Data(contentsOf: file) else {
                continue
            }
            bytes.append(0)
            bytes.withUnsafeBytes { bytes in
                guard let text = bytes.bindMemory(to: CChar.self).baseAddress else { return }
                if file.pathExtension == "swift" { readSwift(SourceText(text)) } else { readC(SourceText(text)) }
            }
        }
    }

    func has(_ member: String, of type: String) -> Bool {
        places[type, default: []].contains { files[$0].members.contains(member) }
    }

    func hasFunction(_ fullName: String) -> Bool { functions.contains(fullName) }

    /// `labels` stand alone, as in `(width:height:)`.
    func hasInitializer(_ labels: String) -> Bool { initializers.contains(labels) }

    private mutating func readC(_ text: SourceText) {
        text.each("kf_") { shims.insert("kf_" + text.word(at: $0)) }
    }

    private mutating func readSwift(_ text: SourceText) {
        var file = File()
        for keyword in ["struct ", "class ", "enum ", "protocol ", "actor ", "typealias "] {
            text.each(keyword) { place in
                let name = text.word(at: place)
                guard !name.isEmpty, !text.isComment(place) else { return }
                types.insert(name)
                file.owners.insert(name)
                file.members.insert(name)
            }
        }
        text.each("extension ") { place in
            file.owners.formUnion(
                text.line(at: place).prefix { $0 != " " && $0 != ":" }.split(separator: ".").map(String.init))
        }
        for keyword in ["var ", "let "] { text.each(keyword) { file.members.insert(text.word(at: $0)) } }
        text.each("case ") { place in
            for name in text.line(at: place).split(separator: " ") {
                file.members.insert(String(name.prefix { $0.isLetter || $0.isNumber }))
            }
        }
        text.each("func ") { place in
            let name = text.word(at: place)
            let full = name + text.labels(at: place + name.utf8.count)
            file.members.formUnion([name, full])
            functions.insert(full)
        }
        text.each("init") { place in
            guard text.isCall(place) else { return }
            let labels = text.labels(at: place)
            file.members.insert("init" + labels)
            initializers.insert(labels)
        }
        for declaration in ["Option(", "column("] {
            text.each(declaration) { place in
                if let name = text.literal(at: place) { options.insert(name) }
            }
        }
        text.each("Option<") { place in
            let type = text.line(at: place).prefix { $0 != "(" }
            if let name = text.literal(at: place + type.utf8.count + 1) { options.insert(name) }
        }
        for owner in file.owners { places[owner, default: []].append(files.count) }
        files.append(file)
    }
}

/// A source file that ends with a NUL. Searched by `strstr`: the tests are built without optimisation, and loops of their
/// own over all sources take seconds.
private struct SourceText {
    private let start: UnsafePointer<CChar>

    init(_ start: UnsafePointer<CChar>) { self.start = start }

    private func byte(_ place: Int) -> UInt8 { UInt8(bitPattern: start[place]) }

    private func isWord(_ place: Int) -> Bool {
        let byte = byte(place)
        return (0x61...0x7a).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
    }

    /// Calls `body` with each place behind the keyword, where that begins a word.
    func each(_ keyword: String, _ body: (Int) -> Void) {
        let length = keyword.utf8.count
        var place = 0
        while let found = strstr(start + place, keyword) {
            let first = start.distance(to: UnsafePointer(found))
            place = first + length
            if first == 0 || !isWord(first - 1) { body(place) }
        }
    }

    private func text(_ range: Range<Int>) -> String {
        let bytes = UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count)
        return String(decoding: bytes, as: UTF8.self)
    }

    func word(at place: Int) -> String {
        var end = place
        while isWord(end) { end += 1 }
        return text(place..<end)
    }

    /// The rest of the line.
    func line(at place: Int) -> String {
        var end = place
        while byte(end) != 0, byte(end) != 0x0a { end += 1 }
        return text(place..<end)
    }

    func isComment(_ place: Int) -> Bool {
        var first = place
        while first > 0, byte(first - 1) != 0x0a { first -= 1 }
        return text(first..<place).contains("//")
    }

    /// Whether parameters, generic ones too, follow the keyword `init`.
    func isCall(_ place: Int) -> Bool { "(?<".utf8.contains(byte(place)) }

    /// The text in quotes that follows, behind white space at most.
    func literal(at place: Int) -> String? {
        var first = place
        while [0x20, 0x0a].contains(byte(first)) { first += 1 }
        guard byte(first) == UInt8(ascii: "\"") else { return nil }
        return String(line(at: first + 1).prefix { $0 != "\"" })
    }

    /// The argument labels of a declaration, as `(_:named:)`; the parameters begin at or behind `place`.
    func labels(at place: Int) -> String {
        var (labels, depth, isLabel, last) = ("(", 0, false, UInt8(0))
        var place = place
        while byte(place) != 0 {
            let byte = byte(place)
            switch byte {
            case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: "<"):
                depth += 1
                isLabel = depth == 1 && byte == UInt8(ascii: "(")
            case UInt8(ascii: ">") where last == UInt8(ascii: "-"): break
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ">"):
                depth -= 1
                if depth <= 0, byte == UInt8(ascii: ")") { return labels + ")" }
            case UInt8(ascii: ",") where depth == 1: isLabel = true
            default:
                guard isLabel, isWord(place) else { break }
                let label = word(at: place)
                labels += label + ":"
                place += label.utf8.count - 1
                isLabel = false
            }
            last = byte
            place += 1
        }
        return labels
    }
}
