/// Completion for fish 3 and newer.
enum FishCompletion {
    static var script: String {
        var lines = [
            "# fish completion for kf, made by 'kf completions fish'", "",
            "# Whether the words behind kf begin with these.", "function __kf_is",
            "    set -l words (commandline -opc)", "    set -e words[1]",
            "    string match -q -- \"$argv *\" \"$words \"", "end", "", "# Whether they are these and no more.",
            "function __kf_has_only", "    set -l words (commandline -opc)", "    set -e words[1]",
            "    test \"$words\" = \"$argv\"", "end", "",
            "function __kf_processors",
        ]
        lines += CompletionWords.processors.map { "    printf '%s\\t%s\\n' \($0.word) \(quoted($0.help))" }
        lines += [
            "end", "", "complete -c kf -f", "complete -c kf -n __kf_has_only -l version -d 'Print the version'",
            "complete -c kf -n __kf_has_only -l help -d 'Explain kf'",
        ]
        for row in CompletionWords.first { lines.append(word(row, behind: "__kf_has_only")) }
        for family in CompletionWords.families {
            for command in CompletionWords.second(family) {
                lines.append(word((command.words[1], command.summary), behind: "'__kf_has_only \(family)'"))
                lines.append(word((command.words[1], command.summary), behind: "'__kf_has_only help \(family)'"))
            }
        }
        for row in CompletionWords.first + [("processors", "Explain -p")] where row.word != "help" {
            lines.append(word(row, behind: "'__kf_has_only help'"))
        }
        for command in CommandTable.all { lines += ["", "# kf \(command.name)"] + complete(command) }
        return lines.joined(separator: "\n")
    }

    private static func complete(_ command: CommandSpec) -> [String] {
        let start = "complete -c kf -n '__kf_is \(command.name)'"
        var lines = command.options.map { option in
            start + (option.short.map { " -s \($0)" } ?? "") + " -l \(option.long)"
                + (option.value.map { " -r" + arguments($0.completion) } ?? "") + " -d \(quoted(option.help))"
        }
        for option in command.options where option.isFlag && option.long != "help" {
            lines.append("\(start) -l no-\(option.long) -d 'Not --\(option.long)'")
        }
        let operands = CompletionWords.operands(command)
        if operands != .nothing { lines.append(start + arguments(operands)) }
        return lines
    }

    private static func word(_ row: (word: String, help: String), behind condition: String) -> String {
        "complete -c kf -n \(condition) -a \(row.word) -d \(quoted(row.help))"
    }

    private static func arguments(_ completion: ValueKind.Completion) -> String {
        switch completion {
        case .nothing: return " -f"
        case .files: return " -F"
        case .directories: return " -a '(__fish_complete_directories (commandline -ct))'"
        case .words(let words): return " -f -a '\(words.joined(separator: " "))'"
        case .processors:
            return " -f -a '(__kf_processors)'"
        }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
