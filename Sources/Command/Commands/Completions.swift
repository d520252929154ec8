import KFCore

enum CompletionsCommand {
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        switch arguments.operands {
        case ["bash"]: Terminal.print(BashCompletion.script)
        case ["zsh"]: Terminal.print(ZshCompletion.script)
        case ["fish"]: Terminal.print(FishCompletion.script)
        default: throw UsageError(message: "'kf completions' needs the name of a shell: bash, zsh or fish")
        }
        return .success
    }
}

/// The words that the three scripts complete.
enum CompletionWords {
    /// The words that may follow `kf`, with explanations.
    static var first: [(word: String, help: String)] {
        var rows: [(word: String, help: String)] = []
        for command in CommandTable.all where !rows.contains(where: { $0.word == command.words[0] }) {
            let help = command.words.count > 1 ? "Inspect and clean the cache" : command.summary
            rows.append((command.words[0], help))
        }
        return rows + [("help", "Explain a command")]
    }

    static func second(_ word: String) -> [CommandSpec] {
        CommandTable.all.filter { $0.words.count > 1 && $0.words[0] == word }
    }

    static var families: [String] {
        CommandTable.all.reduce(into: []) {
            if $1.words.count > 1, !$0.contains($1.words[0]) { $0.append($1.words[0]) }
        }
    }

    static let topics = HelpTopic.allCases.map(\.rawValue)

    /// `resize:` and its explanation. A processor without arguments has no colon.
    static var processors: [(word: String, help: String)] {
        ProcessorSyntax.all.map { ($0.parameters.isEmpty ? $0.name : $0.name + ":", $0.documentation) }
    }

    /// The completion of a command's operands, from their placeholder.
    static func operands(_ command: CommandSpec) -> ValueKind.Completion {
        guard let text = command.operands else { return .nothing }
        let word = text.filter { !"[].".contains($0) }
        return ValueKind(word.hasSuffix("|-") ? String(word.dropLast(2)) : word).completion
    }

    /// Puts the text in single quotes for bash and zsh.
    static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }
}

/// The script for bash 4 and newer. It does not need the bash-completion package.
enum BashCompletion {
    static var script: String {
        let first = CompletionWords.first.map(\.word) + ["--help", "--version"]
        return """
            # bash completion for kf, made by 'kf completions bash'

            _kf_words() {
                mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
            }

            _kf_files() {
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -"$1" -- "$cur")
            }

            # The words before the last comma stay.
            _kf_list() {
                local start=
                [[ $cur == *,* ]] && start=${cur%,*},
                compopt -o nospace 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -P "$start" -W "$1" -- "${cur##*,}")
            }

            # The shell appends the processor's arguments after the colon.
            _kf_processors() {
                compopt -o nospace 2>/dev/null
                _kf_words '\(CompletionWords.processors.map(\.word).joined(separator: " "))'
            }

            \(CommandTable.all.map(function).joined(separator: "\n\n"))

            _kf() {
                local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} word
                COMPREPLY=()
                # --option=value comes as three words.
                if [[ $cur == = ]]; then
                    cur=
                elif [[ $prev == = ]]; then
                    prev=${COMP_WORDS[COMP_CWORD-2]}
                fi
                if ((COMP_CWORD == 1)); then
                    _kf_words '\(first.joined(separator: " "))'
                    return
                fi
                for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
                    [[ $word == -- ]] && { _kf_files f; return; }
                done
                case ${COMP_WORDS[1]} in
            \(top())
                help)
                    case ${COMP_WORDS[2]},$COMP_CWORD in
            \(CompletionWords.families.map { "        \($0),3) _kf_words '\(names($0))' ;;" }.joined(separator: "\n"))
                    *,2) _kf_words '\((CompletionWords.first.map(\.word).filter { $0 != "help" } + CompletionWords.topics).joined(separator: " "))' ;;
                    esac ;;
                esac
            }

            complete -F _kf kf
            """
    }

    private static func names(_ family: String) -> String {
        CompletionWords.second(family).map { $0.words[1] }.joined(separator: " ")
    }

    private static func top() -> String {
        var cases: [String] = []
        for command in CommandTable.all where command.words.count == 1 {
            cases.append("    \(command.words[0])) _kf_\(identifier(command)) ;;")
        }
        for family in CompletionWords.families {
            cases.append("    \(family))")
            cases.append("        ((COMP_CWORD == 2)) && { _kf_words '\(names(family))'; return; }")
            cases.append("        case ${COMP_WORDS[2]} in")
            for command in CompletionWords.second(family) {
                cases.append("        \(command.words[1])) _kf_\(identifier(command)) ;;")
            }
            cases.append("        esac ;;")
        }
        return cases.joined(separator: "\n")
    }

    private static func identifier(_ command: CommandSpec) -> String { command.words.joined(separator: "_") }

    private static func function(_ command: CommandSpec) -> String {
        var lines = ["_kf_\(identifier(command))() {", "    case $prev in"]
        for option in command.options {
            guard let value = option.value else { continue }
            let names = (option.short.map { "-\($0)|" } ?? "") + "--\(option.name)"
            // A word that completes no value may be an operand.
            let end = option.isValueOptional ? "((${#COMPREPLY[@]})) && return" : "return"
            lines.append("    \(names)) \(action(value.completion)); \(end) ;;")
        }
        let long = command.options.map { "--\($0.name)" } + command.options.compactMap { $0.short.map { "-\($0)" } }
        let negated = command.options.filter { $0.isSwitch && $0.name != "help" }.map { "--no-\($0.name)" }
        lines += [
            "    esac", "    case $cur in", "    --no-*) _kf_words '\(negated.joined(separator: " "))' ;;",
            "    -*) _kf_words '\(long.joined(separator: " "))' ;;",
            "    *) \(action(CompletionWords.operands(command))) ;;", "    esac", "}",
        ]
        return lines.joined(separator: "\n")
    }

    private static func action(_ completion: ValueKind.Completion) -> String {
        switch completion {
        case .nothing: ":"
        case .files: "_kf_files f"
        case .directories: "_kf_files d"
        case .processors: "_kf_processors"
        case .words(let choices): "_kf_words '\(choices.joined(separator: " "))'"
        case .list(let words): "_kf_list '\(words.joined(separator: " "))'"
        }
    }
}

/// The script for zsh: a file `_kf` in $fpath, or sourced after compinit.
enum ZshCompletion {
    static var script: String {
        """
        #compdef kf
        # zsh completion for kf, made by 'kf completions zsh'

        _kf_processors() {
            local -a processors=(
        \(CompletionWords.processors.map { described($0, indent: 8) }.joined(separator: "\n"))
            )
            _describe -t processors 'processor' processors -S ''
        }

        _kf() {
            local curcontext="$curcontext" state line ret=1
            local -a commands
            _arguments -C '--help[Explain kf]' '--version[Print the version]' \\
                '1:command:->command' '*::argument:->argument' && ret=0
            case $state in
            command)
                commands=(
        \(CompletionWords.first.map { described($0, indent: 12) }.joined(separator: "\n"))
                )
                _describe -t commands 'command' commands && ret=0 ;;
            argument)
                case $words[1] in
        \(CommandTable.all.filter { $0.words.count == 1 }.map { arguments($0, indent: 8) }.joined(separator: "\n"))
        \(CompletionWords.families.map(family).joined(separator: "\n"))
                help)
                    _values 'command' \((CompletionWords.first.map(\.word) + CompletionWords.topics).joined(separator: " ")) && ret=0 ;;
                esac ;;
            esac
            return ret
        }

        if [[ $funcstack[1] == _kf ]]; then
            _kf "$@"
        else
            compdef _kf kf
        fi
        """
    }

    private static func family(_ word: String) -> String {
        let commands = CompletionWords.second(word)
        return """
                    \(word))
                        _arguments -C '1:command:->command' '*::argument:->argument' && ret=0
                        case $state in
                        command)
                            commands=(
            \(commands.map { described(($0.words[1], $0.summary), indent: 20) }.joined(separator: "\n"))
                            )
                            _describe -t commands 'command' commands && ret=0 ;;
                        argument)
                            case $words[1] in
            \(commands.map { arguments($0, indent: 16) }.joined(separator: "\n"))
                            esac ;;
                        esac ;;
            """
    }

    private static func described(_ row: (word: String, help: String), indent: Int) -> String {
        String(repeating: " ", count: indent)
            + CompletionWords.quoted(row.word.replacing(":", with: "\\:") + ":" + row.help)
    }

    private static func arguments(_ command: CommandSpec, indent: Int) -> String {
        let margin = String(repeating: " ", count: indent)
        var specs = command.options.map { option(option: $0) }
        specs += command.options.filter { $0.isSwitch && $0.name != "help" }
            .map { "'(--\($0.name))--no-\($0.name)[Not --\($0.name)]'" }
        let operands = CompletionWords.operands(command)
        if command.operands != nil { specs.append("'*:argument:\(action(operands))'") }
        let head = "\(margin)\(command.words.last ?? ""))\n\(margin)    _arguments -s -S \\\n"
        return head + specs.map { "\(margin)        \($0)" }.joined(separator: " \\\n") + " && ret=0 ;;"
    }

    private static func option(option: OptionSpec) -> String {
        let help = option.help.replacing("[", with: "\\[").replacing("]", with: "\\]").replacing("'", with: "'\\''")
        let mandatory = option.isValueOptional ? "::" : ":"
        let value = option.value.map { "\(mandatory)\(name($0)):\(action($0.completion))" } ?? ""
        let names = [option.short.map { "-\($0)" }, "--\(option.name)"].compactMap(\.self)
        // A repeatable option is offered again. Another one excludes itself and the options that contradict it.
        let others = (option.isRepeatable ? [] : names) + option.excludes.map { "--\($0)" }
        let prefix = option.isRepeatable ? "*" : others.isEmpty ? "" : "(\(others.joined(separator: " ")))"
        let mark = option.isFlag ? ["", ""] : ["+", "="]
        guard let short = option.short else { return "'\(prefix)--\(option.name)\(mark[1])[\(help)]\(value)'" }
        return "'\(prefix)'{-\(short)\(mark[0]),--\(option.name)\(mark[1])}'[\(help)]\(value)'"
    }

    private static func name(_ kind: ValueKind) -> String {
        !kind.isChoice ? kind.placeholder.replacing(":", with: "\\:") : "word"
    }

    private static func action(_ completion: ValueKind.Completion) -> String {
        switch completion {
        case .nothing: ""
        case .files: "_files"
        case .directories: "_files -/"
        case .processors: "_kf_processors"
        case .words(let choices): "(\(choices.joined(separator: " ")))"
        case .list(let words): "_values -s , word \(words.joined(separator: " "))"
        }
    }
}

/// The script for fish 3 and newer.
enum FishCompletion {
    static var script: String {
        var lines = [
            "# fish completion for kf, made by 'kf completions fish'", "",
            "# Whether the words after kf begin with these.", "function __kf_is",
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
        let topics = HelpTopic.allCases.map { (word: $0.rawValue, help: $0.summary) }
        for row in CompletionWords.first + topics where row.word != "help" {
            lines.append(word(row, behind: "'__kf_has_only help'"))
        }
        for command in CommandTable.all { lines += ["", "# kf \(command.name)"] + complete(command) }
        return lines.joined(separator: "\n")
    }

    private static func complete(_ command: CommandSpec) -> [String] {
        let start = "complete -c kf -n '__kf_is \(command.name)'"
        var lines = command.options.map { option in
            start + (option.short.map { " -s \($0)" } ?? "") + " -l \(option.name)"
                + (option.value.map { (option.isValueOptional ? "" : " -r") + arguments($0.completion) } ?? "")
                + " -d \(quoted(option.help))"
        }
        for option in command.options where option.isSwitch && option.name != "help" {
            lines.append("\(start) -l no-\(option.name) -d 'Not --\(option.name)'")
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
        case .words(let choices): return " -f -a '\(choices.joined(separator: " "))'"
        case .list(let words): return " -f -a '(__fish_append , \(words.joined(separator: " ")))'"
        case .processors:
            return " -f -a '(__kf_processors)'"
        }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
