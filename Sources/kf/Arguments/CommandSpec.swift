/// A command: its words, what it takes, and how it is explained.
struct CommandSpec: Sendable {
    /// `["cache", "stat"]`
    let words: [String]
    let summary: String
    /// What stands for the operands in help; nil when it takes none.
    let operands: String?
    let options: [OptionSpec]
    let examples: [String]
    /// Paragraphs for long help and the man page.
    var details: [String] = []
    /// The options that short help (`-h`) shows.
    var essential: [String] = []

    var name: String { words.joined(separator: " ") }

    func option(long: String) -> OptionSpec? { options.first { $0.long == long } }

    func option(short: Character) -> OptionSpec? { options.first { $0.short == short } }
}

/// What the user wrote does not fit: exit status 2.
struct UsageError: Error {
    let message: String
}
