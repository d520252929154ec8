import KFCore
import KFSystem

/// The texts of one option in the nearest layer, on their way to a parser.
struct Given: Sendable {
    let spec: OptionSpec
    var texts: [String]
    let isOn: Bool
    let origin: Origin

    /// The text that counts: the last one.
    var text: String { texts.last ?? "" }

    func only(_ text: String) -> Given {
        var given = self
        given.texts = [text]
        return given
    }

    /// Returns `--jobs takes …, not 'x'`, with the place of the value unless that is the command line. Hides secrets.
    func wrong(_ takes: String) -> UsageError {
        let shown = spec.secret == nil ? ", not '\(text)'" : ""
        return UsageError(message: "--\(spec.name) takes \(takes)\(shown)\(origin.note)")
    }

    func problem(_ text: String) -> UsageError {
        UsageError(message: "--\(spec.name) \(text)\(origin.note)")
    }
}

/// One option as its declaration describes it. Parsing, help, completions, the manual page and the config file use it.
final class OptionSpec: Sendable {
    let name: String
    let short: Character?
    /// The heading under which help lists the option.
    let group: Group
    /// Nil for a switch, which then has a `--no-` form too.
    let value: ValueKind?
    /// Whether the option may be given without a value. The next word is its value only if it is one of its words.
    let isValueOptional: Bool
    let isRepeatable: Bool
    /// The default, as it would be written on the command line; nil when there is none.
    let byDefault: String?
    let help: String
    /// Options that contradict this one. A nearer layer (command line, environment, file) beats a farther one.
    let excludes: [String]
    /// The option is read from the command line only: it names a file, or it chooses what is deleted.
    let isForCommandLineAlone: Bool
    /// Another command has an option of this name that the environment and the config file may set. This one ignores them.
    let isHomonym: Bool
    let secret: SecretValue?
    /// The option decides which entry a source stands for, or what happens to it. `cache path` and `cache explain` have it.
    let decidesEntry: Bool

    enum Group: String, Sendable {
        case output = "Output"
        case lists = "Lists"
        case processing = "Processing"
        case cache = "Cache"
        case network = "Network"
        case selection = "Selection"
        case listing = "Listing"
        case removal = "Removal"
        case common = "Common"
    }

    init(
        _ name: String, short: Character? = nil, _ group: Group, value: ValueKind? = nil, valueOptional: Bool = false,
        repeatable: Bool = false,
        byDefault: String? = nil, excludes: [String] = [], commandLineAlone: Bool = false,
        homonym: Bool = false, secret: SecretValue? = nil, decidesEntry: Bool = false, help: String
    ) {
        self.name = name
        self.short = short
        self.group = group
        self.value = value
        isValueOptional = valueOptional
        self.byDefault = byDefault
        self.excludes = excludes
        isForCommandLineAlone = commandLineAlone || homonym
        isHomonym = homonym
        self.secret = secret
        self.decidesEntry = decidesEntry
        isRepeatable = repeatable
        self.help = help
    }

    /// The same option for a command that reads it from the command line only.
    func onCommandLine(_ group: Group, help: String) -> OptionSpec {
        OptionSpec(
            name, group, value: value, repeatable: isRepeatable, byDefault: byDefault, commandLineAlone: true,
            homonym: !isForCommandLineAlone, help: help)
    }

    var isFlag: Bool { value == nil }

    /// Whether it can be turned on and off without a value.
    var isSwitch: Bool { isFlag || isValueOptional }

    /// The value as usage lines show it behind the name: ` FILE`, ` [WORD]`, or nothing for a switch.
    var shownValue: String {
        guard let value else { return "" }
        return isValueOptional ? " [\(value.placeholder)]" : " \(value.placeholder)"
    }

    /// The variable that gives a value when the command line does not: `KF_CACHE_DIR`. Nil for an option that is read from
    /// the command line only.
    var environmentVariable: String? { isForCommandLineAlone ? nil : variableName }

    /// The option's name in the form of a variable, whether the variable is read or not.
    var variableName: String {
        // ASCII only: Unicode's upper case of 60 names took 0.25 ms of each start.
        "KF_" + String(decoding: name.utf8.map(Self.variableByte), as: UTF8.self)
    }

    private static func variableByte(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 0x20
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte
        default: UInt8(ascii: "_")
        }
    }
}

extension [OptionSpec] {
    /// Returns the option of a long name, or the switch that a name with `no-` turns off.
    func named(_ name: some StringProtocol) -> (option: OptionSpec, isNegated: Bool)? {
        if let option = first(where: { $0.name == name }) { return (option, false) }
        guard name.hasPrefix("no-") else { return nil }
        return first { $0.isSwitch && $0.name == name.dropFirst(3) }.map { ($0, true) }
    }
}

/// The form of an option's value: its placeholder in help, and what a shell completes.
///
/// The placeholder `"TIME"` means a time, `"a|b|c"` one of three words. An unknown placeholder means any text.
struct ValueKind: Sendable, ExpressibleByStringLiteral {
    enum Completion: Equatable {
        case nothing
        case files
        case directories
        case processors
        case words([String])
        /// Some of these words, with commas between them.
        case list([String])
    }

    private let text: @Sendable () -> String
    private var members: (@Sendable () -> [String])?

    var placeholder: String { text() }

    init(stringLiteral text: String) { self.text = { text } }

    init(_ text: String) { self.init(stringLiteral: text) }

    /// A list of these words.
    init(_ text: String, of members: @escaping @Sendable () -> [String]) {
        self.init(text)
        self.members = members
    }

    /// The words of a choice. They are listed when help or a message needs them.
    init(words: @escaping @Sendable () -> [String]) { text = { words().joined(separator: "|") } }

    var completion: Completion {
        if let members { return .list(members()) }
        // `FILE.csv|.jsonl`: a file with one of these endings.
        if placeholder.hasPrefix("FILE.") { return .files }
        let words = words
        if !words.isEmpty { return .words(words) }
        if placeholder.split(separator: "|").contains("FILE") { return .files }
        switch placeholder {
        case "LIST", "SOURCE": return .files
        case "DIR": return .directories
        case "SPEC", "CHAIN": return .processors
        default: return .nothing
        }
    }

    /// Whether the value is one of these words, and nothing else.
    var isChoice: Bool { placeholder.contains("|") && words.count == placeholder.split(separator: "|").count }

    func hasWord(_ text: String) -> Bool { words.contains(text.lowercased()) }

    /// The parts in lower case, which are literal words.
    private var words: [String] {
        guard placeholder.contains("|") else { return [] }
        return placeholder.split(separator: "|").map(String.init).filter { $0 == $0.lowercased() }
    }
}

/// The part of an option's value that is never shown.
enum SecretValue: Sendable {
    case whole
    /// The value of a header, without its name.
    case header
    case userInfo
    /// The user info of the URL behind `=`.
    case userInfoOfSecond
    /// The user info of each URL in a chain of processors.
    case userInfoInChain

    private static let mark = "•••"

    func hidden(in value: String) -> String {
        switch self {
        case .whole: return Self.mark
        case .header:
            let name = value.prefix { $0 != ":" }
            return name.count < value.count && FieldText.isName(name) ? "\(name): \(Self.mark)" : Self.mark
        case .userInfo:
            guard let part = Self.userInfo(of: value) else { return value }
            return value[..<part.lowerBound] + Self.mark + value[part.upperBound...]
        case .userInfoOfSecond:
            let mark = value.firstRange(of: "=http")?.lowerBound ?? value.startIndex
            return value[..<mark] + Self.userInfo.hidden(in: String(value[mark...]))
        case .userInfoInChain:
            return Self.userInfos(inChain: value).reversed().reduce(into: value) {
                $0.replaceSubrange($1, with: Self.mark)
            }
        }
    }

    /// Returns the part of the value that the process list must not show.
    func part(of value: String) -> Range<String.Index>? {
        switch self {
        case .userInfo: return Self.userInfo(of: value)
        case .userInfoInChain:
            let parts = Self.userInfos(inChain: value)
            return parts.first.flatMap { first in parts.last.map { first.lowerBound..<$0.upperBound } }
        // The whole value of a header: it may be a cookie or a token of any form.
        case .whole, .header, .userInfoOfSecond: return value.startIndex..<value.endIndex
        }
    }

    private static func userInfos(inChain value: String) -> [Range<String.Index>] {
        value.parts(around: "://").dropFirst().compactMap { rest in
            rest.prefix { !"/?#,|".contains($0) }.lastIndex(of: "@").map { rest.startIndex..<$0 }
        }
    }

    /// Returns the place of the user info in a URL; nil if there is none.
    static func userInfo(of value: String) -> Range<String.Index>? {
        let start = value.firstRange(of: "://")?.upperBound ?? value.startIndex
        // The authority ends at a slash. In a text that is not a URL, the slash may be part of a password.
        let isURL = RequestURL.isValid(value)
        let authority = isURL ? value[start...].prefix { !"/?#".contains($0) } : value[start...]
        return authority.lastIndex(of: "@").map { start..<$0 }
    }
}

/// The layer that a value comes from. A nearer layer beats a farther one.
enum Origin: Sendable, Equatable {
    case commandLine
    case environment(variable: String)
    case file(path: String, line: Int)

    /// The end of a message about a value, which names the place where it was set. Empty for the command line, which the
    /// user sees.
    var note: String {
        switch self {
        case .commandLine: ""
        case .environment(let variable): " (from \(variable))"
        case .file(let path, let line): " (\(path):\(line))"
        }
    }

    /// 0 is nearest.
    var layer: Int {
        switch self {
        case .commandLine: 0
        case .environment: 1
        case .file: 2
        }
    }
}

/// The texts that one layer gives for one option, or the state of a switch.
struct Setting: Sendable {
    var values: [String] = []
    /// The state of a switch, or whether an option with an optional value was given without one.
    var isOn = false
    var origin: Origin

    /// Reads `1`, `true` and the like; nil for any other text.
    static func flag(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "1", "true", "yes", "on": true
        case "0", "false", "no", "off": false
        default: nil
        }
    }
}

/// Wrong usage: exit status 2.
struct UsageError: Error {
    let message: String
}

enum Suggestion {
    /// `; did you mean '…'?`, or nothing when no known word is near.
    static func hint(for word: String, in known: [String]) -> String {
        NearestName.to(word, in: known).map { "; did you mean '\($0)'?" } ?? ""
    }

    /// `a, b or c`
    static func list(_ words: [String], last conjunction: String = "or") -> String {
        guard words.count > 1, let last = words.last else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " \(conjunction) " + last
    }
}
