/// One option as the table of its command declares it. Parsing and help both come from here.
struct OptionSpec: Sendable {
    let long: String
    let short: Character?
    /// What stands for the value in help; nil for a flag, which then has a `--no-` form too.
    let value: String?
    let isRepeatable: Bool
    let help: String

    init(_ long: String, short: Character? = nil, value: String? = nil, repeatable: Bool = false, help: String) {
        self.long = long
        self.short = short
        self.value = value
        isRepeatable = repeatable
        self.help = help
    }

    var isFlag: Bool { value == nil }

    /// The variable that gives a value when the command line does not: `KF_CACHE_DIR`. What must be said each time has none.
    var environmentVariable: String? {
        if ["output", "all", "yes", "help", "dry-run"].contains(long) { return nil }
        return "KF_" + long.uppercased().map { $0 == "-" ? "_" : $0 }
    }
}

/// A command: its words, what it takes, and how it is explained.
struct CommandSpec: Sendable {
    /// `["cache", "stat"]`
    let words: [String]
    let summary: String
    /// What stands for the operands in help; nil when it takes none.
    let operands: String?
    let options: [OptionSpec]
    let examples: [String]

    var name: String { words.joined(separator: " ") }

    func option(long: String) -> OptionSpec? { options.first { $0.long == long } }

    func option(short: Character) -> OptionSpec? { options.first { $0.short == short } }
}

/// What the user wrote does not fit: exit status 2.
struct UsageError: Error {
    let message: String
}
