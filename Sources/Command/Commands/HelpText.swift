import KFCore

/// Help, generated from the commands' tables.
enum HelpText {
    static let version = "kf \(Version.number)"

    /// The version with the commit, and all libraries with theirs.
    static var longVersion: String {
        let libraries = UsedLibraries.all
        let rows = [("commit", Version.commit ?? "unknown")] + libraries.map { ($0.word, $0.version) }
        let width = rows.map(\.0.count).max() ?? 0
        let lines = [version] + rows.map { "\(TextColumns.pad($0.0, to: width + 2))\($0.1)" }
        return
            (lines
            + libraries.compactMap { library in
                library.problem.map { "Install \($0.packages): \($0.reason)" }
            }).joined(separator: "\n")
    }

    /// The same as JSON; null for a library that is missing.
    static var versionObject: JSONObject {
        var libraries = JSONObject()
        for library in UsedLibraries.all { libraries.add(library.word, library.problem == nil ? library.version : nil) }
        return JSONObject(
            libraries,
            [
                JSONField("version", nil) { _ in Version.number }, JSONField("commit", nil) { _ in Version.commit },
                JSONField("libraries", nil) { $0 },
            ])
    }

    /// A command with its options, for programs that go through all of them.
    static func object(of command: CommandSpec) -> JSONObject {
        JSONObject(
            command,
            [
                JSONField("name", nil) { $0.name }, JSONField("operands", nil) { $0.operands },
                JSONField("options", nil) { command in
                    command.options.map { option in
                        JSONObject(
                            part: option,
                            [
                                JSONField("name", nil) { $0.name },
                                JSONField("value", nil) { $0.value?.placeholder },
                                JSONField("value_optional", nil) { $0.isValueOptional },
                                JSONField("repeatable", nil) { $0.isRepeatable },
                                JSONField("default", nil) { $0.byDefault },
                                JSONField("excludes", nil) { $0.excludes },
                                JSONField("environment", nil) { $0.environmentVariable },
                            ])
                    }
                },
            ])
    }

    static var overview: String {
        let topics = HelpTopic.allCases.map { "'\($0.rawValue)'" }
        let others = [("help", "Explain a command, as in 'kf help fetch', \(Suggestion.list(topics, last: "or"))")]
        return """
            kf fetches images, keeps them in a disk cache, and writes processed copies.

            Usage: kf COMMAND [OPTION]... [ARGUMENT]...

            \(lines(CommandTable.all.map { ($0.name, $0.summary) } + others))

            A source is an http or https URL, a path or file: URL, a data: URI, or - for
            standard input. Exit status: 0 success, 1 some items failed, 2 wrong usage,
            3 the cache failed, 4 stopped early.
            """
    }

    /// Help for the commands that share their first word.
    static func text(for family: [CommandSpec]) -> String {
        let word = family.first?.words.first ?? ""
        return """
            Usage: kf \(word) COMMAND [OPTION]... [ARGUMENT]...

            \(lines(family.map { ($0.name, $0.summary) }))

            'kf help \(family.first?.name ?? word)' explains one of them.
            """
    }

    /// The number of options above which help is read part by part.
    private static let most = 60

    /// Help as `kf help COMMAND [PART]` prints it: `all`, the options of a group, or without a part what there is.
    static func text(for command: CommandSpec, part: ArraySlice<String>) throws(UsageError) -> String {
        let groups = groups(command.options)
        guard let name = part.first else { return command.options.count > most ? survey(command) : text(for: command) }
        if part.count == 1, name == "all" { return text(for: command) }
        guard part.count == 1, let group = groups.first(where: { $0.rawValue.lowercased() == name }) else {
            let parts = Suggestion.list(["all"] + groups.map { $0.rawValue.lowercased() }, last: "and")
            throw UsageError(message: "'kf help \(command.name)' has the parts \(parts)")
        }
        return ([usage(command), ""] + options(command.options.filter { $0.group == group })).joined(separator: "\n")
    }

    /// The names of all options by their groups, on one screen.
    private static func survey(_ command: CommandSpec) -> String {
        let rows = groups(command.options).map { group in
            let names = command.options.filter { $0.group == group }.map { option in
                (option.short.map { "-\($0), " } ?? "") + "--\(option.name)"
            }
            return (group.rawValue.lowercased(), names.joined(separator: " "))
        }
        let parts = [
            TextColumns.wrapped(command.summary + "."), [usage(command), ""],
            TextColumns.rows(rows.map { (left: $0.0, right: $0.1) }, leftWidth: 12),
            ["", "'kf help \(command.name) \(rows.first?.0 ?? "all")' explains the options of one group, and so on;"],
            [
                "'kf help \(command.name) all' explains everything, 'kf \(command.name) -h' the usual ones.", "",
                "Examples:",
            ],
            command.examples().map { "  \($0)" },
        ]
        return parts.joined().joined(separator: "\n")
    }

    /// Long help (`--help`): everything.
    static func text(for command: CommandSpec) -> String {
        var parts = TextColumns.wrapped(command.summary + ".") + ["", usage(command)]
        for paragraph in command.details() { parts += [""] + TextColumns.wrapped(paragraph) }
        for group in groups(command.options) {
            parts += ["", "\(group.rawValue):"] + options(command.options.filter { $0.group == group })
        }
        parts += ["", "Every switch has a --no- form. Options can also be set in the environment"]
        parts += ["(--cache-dir as KF_CACHE_DIR) and in the config file; see 'kf help config'."]
        parts += ["", "Examples:"] + command.examples().map { "  \($0)" }
        return parts.joined(separator: "\n")
    }

    /// Short help (`-h`): the most used options, on one screen.
    static func brief(_ command: CommandSpec) -> String {
        let all = command.options
        let shown = command.essential().split(separator: " ").compactMap { name in all.first { $0.name == name } }
        let head = TextColumns.wrapped(command.summary + ".") + [usage(command), ""]
        let rest = all.count - shown.count
        guard !shown.isEmpty, rest > 0 else { return (head + options(all)).joined(separator: "\n") }
        let more = "\(rest) more options and examples: kf help \(command.name)"
        return (head + options(shown) + ["", more]).joined(separator: "\n")
    }

    /// The headings, in the order in which they first appear in the table.
    static func groups(_ options: [OptionSpec]) -> [OptionSpec.Group] {
        options.reduce(into: []) { if !$0.contains($1.group) { $0.append($1.group) } }
    }

    private static func usage(_ command: CommandSpec) -> String {
        "Usage: kf \(command.name) [OPTION]..." + (command.operands.map { " \($0)" } ?? "")
    }

    private static func options(_ options: [OptionSpec]) -> [String] {
        TextColumns.rows(
            options.map { option in
                let left = (option.short.map { "-\($0), " } ?? "    ") + "--\(option.name)" + option.shownValue
                return (left, option.help + (option.byDefault.map { " (default \($0))" } ?? ""))
            }, leftWidth: 28)
    }

    private static func lines(_ rows: [(left: String, right: String)]) -> String {
        let width = rows.map(\.left.count).max() ?? 0
        return TextColumns.rows(rows, leftWidth: width + 2).joined(separator: "\n")
    }
}

/// The image formats, and the libraries that read and write them.
enum FormatHelp {
    static var text: String {
        let formats = ImageFormat.allCases
        let libraries = formats.map(\.library)
        let table = [["Format", "-f", "Read", "Write", "Animated", "Library"]] + zip(formats, libraries).map(row)
        let widths = table[0].indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        let lines = table.map { row in
            zip(row.dropLast(), widths).map { TextColumns.pad($0, to: $1 + 2) }.joined() + (row.last ?? "")
        }
        let problems = zip(formats, libraries).compactMap { format, library in
            library?.problem.map {
                let use = format.isEncodable ? "read and write" : "read"
                return "\nInstall \($0.packages) to \(use) \(format.displayName): \($0.reason)"
            }
        }
        return """
            \(lines.joined(separator: "\n"))

            A format that is not read is recognised, stored and delivered as received.
            Processors turn an image that is read into one that is written: as PNG, unless
            -f names a format or the image's own is written. --srgb needs liblcms2-2.
            """ + problems.joined()
    }

    private static func row(_ format: ImageFormat, _ library: CodecLibrary?) -> [String] {
        // Without its library a format is neither read nor written.
        let isUsable = library?.problem == nil
        func word(_ holds: Bool, _ word: String = "yes") -> String { holds && isUsable ? word : "-" }
        return [
            format.displayName, format.rawValue, word(format.isDecodable), word(format.isEncodable),
            word(format.readsAnimation, format.supportsAnimation ? "yes" : "read"),
            library?.name ?? word(format.isDecodable, "kf"),
        ]
    }
}
