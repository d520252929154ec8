/// What the three scripts share.
enum CompletionWords {
    /// What may follow `kf`, with explanations.
    static var first: [(word: String, help: String)] {
        var rows: [(word: String, help: String)] = []
        for command in CommandTable.all where !rows.contains(where: { $0.word == command.words[0] }) {
            let help = command.words.count > 1 ? "See and purge what is cached" : command.summary
            rows.append((command.words[0], help))
        }
        return rows + [("help", "Explain a command")]
    }

    /// The second words of the commands that begin with `word`.
    static func second(_ word: String) -> [CommandSpec] {
        CommandTable.all.filter { $0.words.count > 1 && $0.words[0] == word }
    }

    static var families: [String] {
        CommandTable.all.reduce(into: []) {
            if $1.words.count > 1, !$0.contains($1.words[0]) { $0.append($1.words[0]) }
        }
    }

    /// `resize:` and what it does; one without arguments has no colon.
    static var processors: [(word: String, help: String)] {
        ProcessorHelp.rows.map { row in
            guard let colon = row.left.firstIndex(of: ":") else { return (row.left, row.right) }
            return (String(row.left[...colon]), row.right)
        }
    }

    /// What a command's operands are, told from the words that stand for them.
    static func operands(_ command: CommandSpec) -> ValueKind.Completion {
        guard let text = command.operands else { return .nothing }
        let word = text.filter { !"[].".contains($0) }
        return ValueKind(stringLiteral: word.hasSuffix("|-") ? String(word.dropLast(2)) : word).completion
    }

    /// In single quotes, as bash and zsh have them.
    static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }
}
