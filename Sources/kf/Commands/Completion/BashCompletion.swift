/// Completion for bash 4 and newer, without the help of the bash-completion package.
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

            # What the shell is to write itself goes on behind the colon.
            _kf_processors() {
                compopt -o nospace 2>/dev/null
                _kf_words '\(CompletionWords.processors.map(\.word).joined(separator: " "))'
            }

            \(functions)

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
            \(CompletionWords.families.map(helpFamily).joined(separator: "\n"))
                    *,2) _kf_words '\((CompletionWords.first.map(\.word).filter { $0 != "help" } + ["processors"]).joined(separator: " "))' ;;
                    esac ;;
                esac
            }

            complete -F _kf kf
            """
    }

    private static func helpFamily(_ family: String) -> String {
        "        \(family),3) _kf_words '\(names(family))' ;;"
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

    private static var functions: String { CommandTable.all.map(function).joined(separator: "\n\n") }

    private static func identifier(_ command: CommandSpec) -> String { command.words.joined(separator: "_") }

    private static func function(_ command: CommandSpec) -> String {
        var lines = ["_kf_\(identifier(command))() {", "    case $prev in"]
        for option in command.options {
            guard let value = option.value else { continue }
            let names = (option.short.map { "-\($0)|" } ?? "") + "--\(option.long)"
            lines.append("    \(names)) \(action(value.completion)); return ;;")
        }
        let long = command.options.map { "--\($0.long)" } + command.options.compactMap { $0.short.map { "-\($0)" } }
        let negated = command.options.filter { $0.isFlag && $0.long != "help" }.map { "--no-\($0.long)" }
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
        case .words(let words): "_kf_words '\(words.joined(separator: " "))'"
        }
    }
}
