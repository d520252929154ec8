import KFCore

/// kf(1), generated from the commands' tables.
enum ManPage {
    private static let all = CommandTable.all

    static var text: String {
        var page = Roff()
        page.macro("TH", "KF", "1", Version.date, HelpText.version, "User Commands")
        page.macro("SH", "NAME")
        page.line("kf - fetch, cache and process images")
        page.macro("SH", "SYNOPSIS")
        for command in all {
            page.macro("SY", "kf \(command.name)")
            page.line("[OPTION]..." + (command.operands.map { " \($0)" } ?? ""))
            page.macro("YS")
        }
        page.macro("SH", "DESCRIPTION")
        for (index, paragraph) in ManualText.description.enumerated() {
            if index > 0 { page.macro("PP") }
            page.line(paragraph)
        }
        commands(&page)
        options(&page)
        page.macro("SH", "PROCESSORS")
        page.line(ManualText.processors)
        for row in HelpTopic.processorRows { page.item(row.left, "\(row.right).") }
        page.macro("SH", "ENCODING")
        page.line("A chain of processors may end in encode:FORMAT, with options behind commas.")
        for row in HelpTopic.encodingRows { page.item(row.left, "\(row.right).") }
        page.macro("SH", "NAMES")
        page.line(ManualText.names[0])
        for row in HelpTopic.nameRows { page.item(row.left, "\(row.right).") }
        page.macro("PP")
        page.line(ManualText.names[1])
        formats(&page)
        json(&page)
        list("EXIT STATUS", ManualText.statuses, &page)
        list("ENVIRONMENT", ManualText.environment, &page)
        list("FILES", ManualText.files, &page)
        page.macro("SH", "EXAMPLES")
        page.line("One for each common use:")
        for command in all { page.example(command.examples()) }
        page.macro("SH", "SEE ALSO")
        page.line("curl(1), cwebp(1), sqlite3(1)")
        return String(page.text.dropLast())
    }

    /// The commands that have this option with the same meaning.
    private static func owners(_ option: OptionSpec) -> [String] {
        all.filter { $0.options.contains { $0.name == option.name && $0.help == option.help } }.map(\.name)
    }

    private static func commands(_ page: inout Roff) {
        page.macro("SH", "COMMANDS")
        for command in all {
            page.macro("SS", "kf \(command.name)" + (command.operands.map { " \($0)" } ?? ""))
            page.line("\(command.summary).")
            for paragraph in command.details() {
                page.macro("PP")
                page.line(paragraph)
            }
            for option in command.options where owners(option).count == 1 { item(option, "", &page) }
        }
    }

    private static func options(_ page: inout Roff) {
        page.macro("SH", "OPTIONS")
        page.line("These options belong to several commands. Every switch has a --no- form, and -- ends the options.")
        var done: Set<String> = []
        let shared = all.flatMap(\.options).filter { option in
            done.insert("\(option.name) \(option.help)").inserted && owners(option).count > 1
        }
        for group in HelpText.groups(shared) {
            page.macro("SS", group.rawValue)
            for option in shared where option.group == group {
                let owners = owners(option)
                let isEverywhere = owners.count >= all.count - 2
                item(option, isEverywhere ? "" : "Used by \(Suggestion.list(owners, last: "and")). ", &page)
            }
        }
    }

    private static func item(_ option: OptionSpec, _ owners: String, _ page: inout Roff) {
        var text = option.help + ". "
        if let value = option.byDefault { text += "Default: \(value). " }
        if option.isRepeatable { text += "May be repeated. " }
        if !option.excludes.isEmpty {
            text += "Excludes \(Suggestion.list(option.excludes.map { "--\($0)" }, last: "and")). "
        }
        text += owners + (option.environmentVariable.map { "Environment: \($0)." } ?? "Not read from the environment.")
        let names = (option.short.map { "-\($0), " } ?? "") + "--\(option.name)"
        page.item(names + option.shownValue, text)
    }

    private static func formats(_ page: inout Roff) {
        page.macro("SH", "FORMATS")
        page.line(ManualText.formats)
        for format in ImageFormat.allCases {
            let uses = [format.isDecodable ? "read" : nil, format.isEncodable ? "written" : nil].compactMap { $0 }
            let animated = format.supportsAnimation ? ", animations too" : "; animations are read"
            page.item(
                format.rawValue,
                "\(format.displayName): \(uses.isEmpty ? "recognised" : uses.joined(separator: ", "))"
                    + (format.readsAnimation ? animated : "") + ".")
        }
    }

    private static func json(_ page: inout Roff) {
        page.macro("SH", "JSON")
        page.line(ManualText.json)
        // Members that several objects share are explained with the first.
        var done: Set<String> = []
        for group in groups {
            page.macro("SS", group.title)
            for row in group.rows where done.insert(row.term + row.meaning).inserted {
                page.item(row.term, row.meaning)
            }
        }
    }

    private static let groups = [
        JSONGroup(
            title: "Every object",
            rows: [
                ("schema", "The version of the schema, 1."),
                ("summary", "true in the last object of a command that prints several; absent in the others."),
                ("exit_status", "The exit status of the process."),
            ]),
        JSONGroup("kf fetch and kf prefetch: one object per item, as it ends", ItemReport.fields),
        JSONGroup("Summary of kf fetch", FetchCommand.summary),
        JSONGroup("Summary of kf prefetch", PrefetchCommand.summary),
        JSONGroup("--srcset FILE.json: an array with one object per source", PictureMarkup.fields),
        JSONGroup("kf prefetch --dry-run: one object per item", PrefetchDryRunCommand.fields),
        JSONGroup("Summary of kf prefetch --dry-run", PrefetchDryRunCommand.summary),
        JSONGroup("kf cache stat", CacheStatCommand.fields),
        JSONGroup("kf cache ls and kf cache path: one object per entry", EntryTable.fields),
        JSONGroup("kf cache tags: one object per tag", CacheStatCommand.shareFields),
        JSONGroup("kf cache dupes: one object per group", CacheDuplicatesCommand.fields),
        JSONGroup("Summary of kf cache dupes", CacheDuplicatesCommand.summary),
        JSONGroup("kf cache push, with -v or --dry-run: one object per image", CachePushCommand.fields),
        JSONGroup("Summary of kf cache push", CachePushCommand.summary),
        JSONGroup("kf cache merge: one object per directory", CacheMergeCommand.fields),
        JSONGroup("kf cache explain", CacheExplainCommand.fields),
        JSONGroup("kf cache report", CacheReportCommand.fields),
        JSONGroup("kf cache clean and kf cache rm, with -v: one object per entry", RemovalReport.fields),
        JSONGroup("Summary of kf cache clean and kf cache rm", RemovalReport.summary),
        JSONGroup("kf cache verify: one object per finding", CacheVerifyCommand.fields),
        JSONGroup("Summary of kf cache verify", CacheVerifyCommand.summary),
        JSONGroup("kf config: one object per option", ConfigRow.fields),
        JSONGroup("Summary of kf config", ConfigCommand.summary),
    ]

    private static func list(_ heading: String, _ rows: KeyValuePairs<String, String>, _ page: inout Roff) {
        page.macro("SH", heading)
        for row in rows { page.item(row.key, row.value) }
    }
}

/// Text in the macros of man(7).
struct Roff {
    private(set) var text = ""

    mutating func macro(_ name: String, _ arguments: String...) {
        let quoted = arguments.map { " \"\($0.replacing("\\", with: "\\e").replacing("\"", with: "\\(dq"))\"" }
        text += ".\(name)\(quoted.joined())\n"
    }

    mutating func line(_ text: String) {
        for part in TextColumns.wrapped(text, to: 72) { verbatim(part) }
    }

    private mutating func verbatim(_ line: String) {
        let escaped = Self.escaped(line)
        text += (escaped.first == "." || escaped.first == "'" ? "\\&" : "") + escaped + "\n"
    }

    /// A term in bold, and its explanation below.
    mutating func item(_ term: String, _ paragraph: String) {
        text += ".TP\n\\fB\(Self.escaped(term))\\fR\n"
        line(paragraph)
    }

    mutating func example(_ lines: [String]) {
        text += ".PP\n.RS 4\n.nf\n"
        for part in lines { verbatim(part) }
        text += ".fi\n.RE\n"
    }

    /// Escapes special characters. A hyphen becomes a minus, so that options can be copied.
    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { $0 += escapes[$1] ?? String($1) }
    }

    private static let escapes: [Character: String] = [
        "\\": "\\e", "-": "\\-", "~": "\\(ti", "^": "\\(ha", "`": "\\(ga", "…": "...",
    ]
}
