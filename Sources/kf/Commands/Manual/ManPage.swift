/// kf(1), made from the commands' tables.
enum ManPage {
    static var text: String {
        var page = Roff()
        page.macro("TH", "KF", "1", HelpText.date, HelpText.version, "User Commands")
        page.macro("SH", "NAME")
        page.line("kf - fetch, cache and process images")
        page.macro("SH", "SYNOPSIS")
        for command in CommandTable.all { synopsis(command, &page) }
        page.macro("SH", "DESCRIPTION")
        for (index, paragraph) in ManualText.description.enumerated() {
            if index > 0 { page.macro("PP") }
            page.line(paragraph)
        }
        commands(&page)
        options(&page)
        processors(&page)
        json(&page)
        list("EXIT STATUS", ManualText.statuses, &page)
        environment(&page)
        list("FILES", ManualText.files, &page)
        page.macro("SH", "EXAMPLES")
        page.line("One for most of what kf does:")
        for command in CommandTable.all where !command.examples.isEmpty { page.example(command.examples) }
        page.macro("SH", "SEE ALSO")
        page.line("curl(1), cwebp(1), sqlite3(1)")
        return String(page.text.dropLast())
    }

    /// What several commands have, with the same meaning.
    private static func isShared(_ option: OptionSpec) -> Bool {
        CommandTable.all.filter { $0.option(long: option.long)?.help == option.help }.count > 1
    }

    private static func synopsis(_ command: CommandSpec, _ page: inout Roff) {
        page.macro("SY", "kf \(command.name)")
        page.line("[OPTION]..." + (command.operands.map { " \($0)" } ?? ""))
        page.macro("YS")
    }

    private static func commands(_ page: inout Roff) {
        page.macro("SH", "COMMANDS")
        for command in CommandTable.all {
            page.macro("SS", "kf \(command.name)" + (command.operands.map { " \($0)" } ?? ""))
            page.line("\(command.summary).")
            for paragraph in command.details {
                page.macro("PP")
                page.line(paragraph)
            }
            for option in command.options where !isShared(option) { item(option, "", &page) }
        }
    }

    private static func options(_ page: inout Roff) {
        page.macro("SH", "OPTIONS")
        page.line("What several commands have. Every switch has a --no- form; -- ends the options.")
        var done: Set<String> = []
        var headings: [String] = []
        var rows: [String: [(option: OptionSpec, commands: [String])]] = [:]
        for option in CommandTable.all.flatMap(\.options) where isShared(option) {
            guard done.insert(option.long + option.help).inserted else { continue }
            let owners = CommandTable.all.filter { $0.option(long: option.long)?.help == option.help }.map(\.name)
            if rows[option.group] == nil { headings.append(option.group) }
            rows[option.group, default: []].append((option, owners))
        }
        for heading in headings {
            page.macro("SS", heading)
            for row in rows[heading] ?? [] {
                let isEverywhere = row.commands.count >= CommandTable.all.count - 2
                item(row.option, isEverywhere ? "" : "Of \(Suggestion.list(row.commands, last: "and")). ", &page)
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
        text += owners + (option.environmentVariable.map { "Environment: \($0)." } ?? "Not in the environment.")
        let names = (option.short.map { "-\($0), " } ?? "") + "--\(option.long)"
        page.item(names + (option.value.map { " \($0.placeholder)" } ?? ""), text)
    }

    private static func processors(_ page: inout Roff) {
        page.macro("SH", "PROCESSORS")
        page.line(ManualText.processors)
        for row in ProcessorHelp.rows { page.item(row.left, "\(row.right).") }
    }

    private static func json(_ page: inout Roff) {
        page.macro("SH", "JSON")
        page.line(ManualText.json)
        for group in JSONFields.groups {
            page.macro("SS", group.title)
            for field in group.fields { page.item(field.name, field.meaning) }
        }
    }

    private static func environment(_ page: inout Roff) {
        list("ENVIRONMENT", ManualText.environment, &page)
    }

    private static func list(_ heading: String, _ rows: [(left: String, right: String)], _ page: inout Roff) {
        page.macro("SH", heading)
        for row in rows { page.item(row.left, row.right) }
    }
}
