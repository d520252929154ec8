import Glibc
import KFCore

package enum KF {
    /// Runs the command of the process's arguments, and returns its exit status.
    package static func main() -> Int32 {
        // A closed pipe then shows as EPIPE from write, and kf ends quietly.
        signal(SIGPIPE, SIG_IGN)
        // A limit on file sizes then shows as EFBIG, like a full disk.
        signal(SIGXFSZ, SIG_IGN)
        Terminal.reserveStandardDescriptors()
        return run(RawText.commandLine, in: Session())
    }

    /// Runs a command, and returns its exit status. Blocks; a process runs one at a time.
    package static func run(_ words: [String], in session: Session) -> Int32 {
        session.begin()
        var status: ExitStatus
        do {
            status = try run(words[...])
        } catch {
            Terminal.printFailure("kf: \(Terminal.visible(error.message))")
            status = .usage
        }
        session.messages.finish()
        if let problem = Terminal.lostResults {
            Terminal.printFailure("kf: cannot write standard output: \(problem)")
            status.raise(to: .someFailed)
        }
        return status.rawValue
    }

    private static func run(_ words: ArraySlice<String>) throws(UsageError) -> ExitStatus {
        switch words.first {
        case nil:
            Terminal.printPlainError(HelpText.overview)
            return .usage
        case "help", "--help", "-h":
            return try help(words.dropFirst())
        case "--version":
            try version(words.dropFirst())
            return .success
        default:
            break
        }
        if words.dropFirst().first.map({ ["-h", "--help"].contains($0) }) == true, let family = family(words) {
            Terminal.print(HelpText.text(for: family))
            return .success
        }
        let command = try find(words)
        let line = try CommandLineWords(command, words.dropFirst(command.words.count))
        if let help = line.help {
            Terminal.print(help == .short ? HelpText.brief(command) : HelpText.text(for: command))
            return .success
        }
        line.hideSecrets()
        let session = Session.current
        let file = try ConfigFile(environment: session.environment)
        let arguments = try ParsedArguments(line, environment: session.environment, file: file)
        let color = try arguments[Options.color]
        session.color.withLock { $0 = color }
        if command.opensCache { try checkDescriptors() }
        return try command.run(arguments)
    }

    /// Refuses a limit on open files under which SQLite, libcurl and libdispatch fail without naming a cause.
    private static func checkDescriptors() throws(UsageError) {
        guard let free = DescriptorLimit.shortage() else { return }
        throw UsageError(
            message: "only \(free) more files can be opened, and kf needs \(DescriptorLimit.fewest); raise the limit "
                + "(ulimit -n)")
    }

    private static func version(_ options: ArraySlice<String>) throws(UsageError) {
        guard let unknown = options.first(where: { !["-v", "--verbose", "--json"].contains($0) }) else {
            return Terminal.print(
                options.contains("--json")
                    ? HelpText.versionObject.json : options.isEmpty ? HelpText.version : HelpText.longVersion)
        }
        throw UsageError(message: "'kf --version' takes -v and --json, not '\(unknown)'")
    }

    private static func help(_ words: ArraySlice<String>) throws(UsageError) -> ExitStatus {
        if let topic = words.first.flatMap(HelpTopic.init) {
            guard words.count == 1 else {
                throw UsageError(message: "'kf help \(topic.rawValue)' takes nothing more")
            }
            Terminal.print(topic.text)
        } else if words.count == 1, let family = family(words) {
            Terminal.print(HelpText.text(for: family))
        } else if words == ["--json"] {
            for command in CommandTable.all { Terminal.print(HelpText.object(of: command).json) }
        } else if words.isEmpty || words == ["help"] {
            Terminal.print(HelpText.overview)
        } else {
            let command = try find(words)
            Terminal.print(try HelpText.text(for: command, part: words.dropFirst(command.words.count)))
        }
        return .success
    }

    /// The commands that begin with the first word, when no command is that word alone.
    private static func family(_ words: ArraySlice<String>) -> [CommandSpec]? {
        let family = CommandTable.all.filter { $0.words.count > 1 && $0.words[0] == words.first }
        return family.isEmpty ? nil : family
    }

    private static func find(_ words: ArraySlice<String>) throws(UsageError) -> CommandSpec {
        if let command = CommandTable.all.first(where: { words.starts(with: $0.words) }) { return command }
        let first = words.first ?? ""
        if let family = family(words) {
            let choices = family.map { $0.words[1] }
            guard let second = words.dropFirst().first else {
                throw UsageError(message: "'kf \(first)' needs one of: \(choices.joined(separator: ", "))")
            }
            let hint = Hints.command("\(first) \(second)") ?? Suggestion.hint(for: second, in: choices)
            throw UsageError(message: "'kf \(first)' has no command '\(second)'\(hint)")
        }
        throw UsageError(message: unknown(first))
    }

    /// The message for a first word that is not a command.
    private static func unknown(_ word: String) -> String {
        let shown = RequestURL.redacted(word)
        if word.hasPrefix("-") {
            return "an option comes after the command: kf fetch \(shown) …; 'kf help' lists the commands"
        }
        let refusal = "there is no command '\(shown)'"
        if let command = CommandTable.all.first(where: { $0.words.count > 1 && $0.words[1] == word }) {
            return "\(refusal); did you mean 'kf \(command.name)'?"
        }
        if let hint = Hints.command(word) { return refusal + hint }
        if let topic = HelpTopic(rawValue: word) { return "\(refusal); did you mean 'kf help \(topic.rawValue)'?" }
        let topics = HelpTopic.allCases.map(\.rawValue)
        let known = Array(Set(CommandTable.all.map { $0.words[0] } + ["help"] + topics)).sorted()
        let hint = Suggestion.hint(for: word, in: known)
        if !hint.isEmpty { return refusal + hint }
        if word.contains("/") || word.contains(".") { return "\(refusal); to fetch an image: kf fetch \(shown)" }
        return "\(refusal); 'kf help' lists them"
    }
}
