/// Help, made from the commands' tables.
enum HelpText {
    static let version = "kf 0.1.0"

    static var overview: String {
        let width = CommandTable.all.map(\.name.count).max() ?? 0
        let commands = lines(for: CommandTable.all)
        return """
            kf fetches images, keeps them in a cache on the disk, and writes processed copies.

            Usage: kf COMMAND [OPTION]... [ARGUMENT]...

            \(commands.joined(separator: "\n"))
              \(pad("help", to: width + 2))Explain a command: kf help fetch

            A source is an http or https URL, a path or file: URL, a data: URI, or - for standard input.
            Exit status: 0 all done, 1 some items failed, 2 wrong usage, 3 the cache failed.
            """
    }

    static func text(for family: [CommandSpec]) -> String {
        "Usage: kf COMMAND [OPTION]... [ARGUMENT]...\n\n" + lines(for: family).joined(separator: "\n")
    }

    private static func lines(for commands: [CommandSpec]) -> [String] {
        let width = CommandTable.all.map(\.name.count).max() ?? 0
        return commands.map { "  " + pad($0.name, to: width + 2) + $0.summary }
    }

    static func text(for command: CommandSpec) -> String {
        let operands = command.operands.map { " \($0)" } ?? ""
        let left = command.options.map { option in
            (option.short.map { "-\($0), " } ?? "    ") + "--\(option.long)" + (option.value.map { " \($0)" } ?? "")
        }
        let width = (left.map(\.count).max() ?? 0) + 2
        let options = zip(left, command.options).map { "  " + pad($0, to: width) + $1.help }
        return """
            \(command.summary).

            Usage: kf \(command.name) [OPTION]...\(operands)

            \(options.joined(separator: "\n"))

            Options may stand in the environment too, --cache-dir as KF_CACHE_DIR; -o, --all, --yes and --dry-run may not.

            Examples:
            \(command.examples.map { "  \($0)" }.joined(separator: "\n"))
            """
    }

    private static func pad(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
