/// Completion for zsh: a file `_kf` in $fpath, or sourced behind compinit.
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
                    _values 'command' \((CompletionWords.first.map(\.word) + ["processors"]).joined(separator: " ")) && ret=0 ;;
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
        specs += command.options.filter { $0.isFlag && $0.long != "help" }
            .map { "'(--\($0.long))--no-\($0.long)[Not --\($0.long)]'" }
        let operands = CompletionWords.operands(command)
        if command.operands != nil { specs.append("'*:argument:\(action(operands))'") }
        let head = "\(margin)\(command.words.last ?? ""))\n\(margin)    _arguments -s -S \\\n"
        return head + specs.map { "\(margin)        \($0)" }.joined(separator: " \\\n") + " && ret=0 ;;"
    }

    private static func option(option: OptionSpec) -> String {
        let help = option.help.replacing("[", with: "\\[").replacing("]", with: "\\]").replacing("'", with: "'\\''")
        let value = option.value.map { ":\(name($0)):\(action($0.completion))" } ?? ""
        let names = [option.short.map { "-\($0)" }, "--\(option.long)"].compactMap(\.self)
        // A repeatable one is offered again; another excludes itself and what makes no sense beside it.
        let others = (option.isRepeatable ? [] : names) + option.excludes.map { "--\($0)" }
        let prefix = option.isRepeatable ? "*" : others.isEmpty ? "" : "(\(others.joined(separator: " ")))"
        let mark = option.isFlag ? ["", ""] : ["+", "="]
        guard let short = option.short else { return "'\(prefix)--\(option.long)\(mark[1])[\(help)]\(value)'" }
        return "'\(prefix)'{-\(short)\(mark[0]),--\(option.long)\(mark[1])}'[\(help)]\(value)'"
    }

    private static func name(_ kind: ValueKind) -> String {
        kind.choices.isEmpty ? kind.placeholder.replacing(":", with: "\\:") : "word"
    }

    private static func action(_ completion: ValueKind.Completion) -> String {
        switch completion {
        case .nothing: ""
        case .files: "_files"
        case .directories: "_files -/"
        case .processors: "_kf_processors"
        case .words(let words): "(\(words.joined(separator: " ")))"
        }
    }
}
