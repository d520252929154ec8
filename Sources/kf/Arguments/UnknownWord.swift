import KFCore

/// What is said of a word that nobody knows.
enum UnknownWord {
    static func option(_ name: String, of command: CommandSpec) -> UsageError {
        let known = command.options.flatMap { $0.isFlag ? [$0.long, "no-" + $0.long] : [$0.long] }
        let hint =
            Suggestion.nearest(to: name, in: known).map { "; did you mean '--\($0)'?" }
            ?? owners(of: name).map { "; it is an option of \($0)" }
            ?? "; 'kf help \(command.name)' lists them"
        return UsageError(message: "'kf \(command.name)' has no option --\(name)\(hint)")
    }

    /// The commands that have the option; nil when none has.
    private static func owners(of name: String) -> String? {
        let bare = name.hasPrefix("no-") ? String(name.dropFirst(3)) : name
        let owners = CommandTable.all.filter { $0.option(long: name) != nil || $0.option(long: bare)?.isFlag == true }
        return owners.isEmpty ? nil : Suggestion.list(owners.map { "'kf \($0.name)'" }, last: "and")
    }

    /// The first word, when it is no command.
    static func command(_ word: String) -> UsageError {
        let shown = RequestURL.redacted(word)
        if word.hasPrefix("-") {
            return UsageError(message: "an option stands behind the command: kf fetch \(shown) …; 'kf help' lists them")
        }
        if let family = CommandTable.all.first(where: { $0.words.count > 1 && $0.words[1] == word }) {
            return UsageError(message: "there is no command '\(shown)'; did you mean 'kf \(family.name)'?")
        }
        if ["get", "download"].contains(word) {
            return UsageError(message: "there is no command '\(shown)'; did you mean 'kf fetch'?")
        }
        let known = Array(Set(CommandTable.all.map { $0.words[0] } + ["help"])).sorted()
        if let near = Suggestion.nearest(to: word, in: known) {
            return UsageError(message: "there is no command '\(shown)'; did you mean '\(near)'?")
        }
        if word.contains("/") || word.contains(".") {
            return UsageError(message: "there is no command '\(shown)'; to get an image: kf fetch \(shown)")
        }
        return UsageError(message: "there is no command '\(shown)'; 'kf help' lists them")
    }
}
