/// Help, made from the commands' tables.
enum HelpText {
    static let version = "kf 0.1.0"
    /// Of that version.
    static let date = "2026-11-21"

    static var overview: String {
        let others = [
            ("help", "Explain a command: kf help fetch; or the processors: kf help processors")
        ]
        return """
            kf fetches images, keeps them in a cache on the disk, and writes processed
            copies.

            Usage: kf COMMAND [OPTION]... [ARGUMENT]...

            \(lines(CommandTable.all.map { ($0.name, $0.summary) } + others))

            A source is an http or https URL, a path or file: URL, a data: URI, or - for
            standard input. Exit status: 0 all done, 1 some items failed, 2 wrong usage,
            3 the cache failed, 4 stopped early.
            """
    }

    /// The commands that share their first word.
    static func text(for family: [CommandSpec]) -> String {
        let word = family.first?.words.first ?? ""
        return """
            Usage: kf \(word) COMMAND [OPTION]... [ARGUMENT]...

            \(lines(family.map { ($0.name, $0.summary) }))

            'kf help \(family.first?.name ?? word)' explains one of them.
            """
    }

    /// `--help`: everything.
    static func text(for command: CommandSpec) -> String {
        var parts = TextColumns.wrapped(command.summary + ".") + ["", usage(command)]
        for paragraph in command.details { parts += [""] + TextColumns.wrapped(paragraph) }
        for heading in headings(command) {
            parts += ["", "\(heading):"] + options(command.options.filter { $0.group == heading })
        }
        parts += ["", "Every switch has a --no- form. Options may also stand in the environment"]
        parts += ["(--cache-dir as KF_CACHE_DIR) and in the config file; see 'kf help config'."]
        parts += ["", "Examples:"] + command.examples.map { "  \($0)" }
        return parts.joined(separator: "\n")
    }

    /// `-h`: what is asked for most, on one screen.
    static func brief(_ command: CommandSpec) -> String {
        let shown = command.essential.compactMap(command.option(long:))
        let rest = command.options.count - shown.count
        guard !shown.isEmpty, rest > 0 else {
            return ([command.summary + ".", usage(command), ""] + options(command.options)).joined(separator: "\n")
        }
        let more = "\(rest) more options and examples: kf help \(command.name)"
        return ([command.summary + ".", usage(command), ""] + options(shown) + ["", more]).joined(separator: "\n")
    }

    /// In the order in which they first appear in the table.
    static func headings(_ command: CommandSpec) -> [String] {
        command.options.reduce(into: []) { if !$0.contains($1.group) { $0.append($1.group) } }
    }

    static func usage(_ command: CommandSpec) -> String {
        "Usage: kf \(command.name) [OPTION]..." + (command.operands.map { " \($0)" } ?? "")
    }

    private static func options(_ options: [OptionSpec]) -> [String] {
        TextColumns.rows(
            options.map { option in
                let left =
                    (option.short.map { "-\($0), " } ?? "    ") + "--\(option.long)"
                    + (option.value.map { " \($0.placeholder)" } ?? "")
                return (left, option.help + (option.byDefault.map { " (default \($0))" } ?? ""))
            }, leftWidth: 28)
    }

    private static func lines(_ rows: [(left: String, right: String)]) -> String {
        let width = rows.map(\.left.count).max() ?? 0
        return TextColumns.rows(rows, leftWidth: width + 2).joined(separator: "\n")
    }
}
