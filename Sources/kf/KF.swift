import Glibc
import KFCore

@main
struct KF {
    static func main() {
        // A reader that goes away shows as EPIPE where we write, which ends us quietly.
        signal(SIGPIPE, SIG_IGN)
        // A limit on the size of files shows as EFBIG, as a full disk would.
        signal(SIGXFSZ, SIG_IGN)
        Terminal.reserveStandardDescriptors()
        var status: ExitStatus
        do {
            status = try run(RawText.commandLine[...])
        } catch {
            Terminal.printFailure("kf: \(Terminal.visible(error.message))")
            status = .usage
        }
        if let problem = Terminal.lostResults {
            Terminal.printFailure("kf: cannot write standard output: \(problem)")
            status.raise(to: .someFailed)
        }
        exit(status.rawValue)
    }

    private static func run(_ words: ArraySlice<String>) throws(UsageError) -> ExitStatus {
        switch words.first {
        case nil:
            Terminal.printHelpAsError(HelpText.overview)
            return .usage
        case "help", "--help", "-h":
            return try help(words.dropFirst())
        case "--version":
            Terminal.print(HelpText.version)
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
        let file = try ConfigFile(environment: Environment.current)
        let arguments = try ParsedArguments(line, environment: Environment.current, file: file)
        ColorChoice.set(arguments.value("color"))
        if command.name == "config" {
            return try ConfigCommand(arguments, environment: Environment.current, file: file).run()
        }
        return try run(command, arguments)
    }

    /// Below that, SQLite, libcurl and libdispatch fail in ways that name no cause, or end the process.
    private static func checkDescriptors() throws(UsageError) {
        guard let free = DescriptorLimit.shortage() else { return }
        throw UsageError(
            message: "only \(free) more files can be opened, and kf needs \(DescriptorLimit.fewest); raise the limit "
                + "(ulimit -n)")
    }

    private static func run(
        _ command: CommandSpec, _ arguments: ParsedArguments
    ) throws(UsageError) -> ExitStatus {
        if !["completions", "man"].contains(command.name) { try checkDescriptors() }
        switch command.name {
        case "fetch": return try FetchCommand(arguments).run()
        case "completions": return try CompletionsCommand(arguments).run()
        case "man": return ManCommand.run()
        case "prefetch": return try PrefetchCommand(arguments).run()
        case "cache stat": return Blocking.wait(try CacheStatCommand(arguments).run)
        case "cache report": return Blocking.wait(try CacheReportCommand(arguments).run)
        case "cache ls": return Blocking.wait(try CacheListCommand(arguments).run)
        case "cache path": return Blocking.wait(try CachePathCommand(arguments).run)
        case "cache explain": return Blocking.wait(try CacheExplainCommand(arguments).run)
        case "cache verify": return Blocking.wait(try CacheVerifyCommand(arguments).run)
        case "cache clean": return Blocking.wait(try CacheCleanCommand(arguments).run)
        case "cache rm": return Blocking.wait(try CacheRemoveCommand(arguments).run)
        default: throw UsageError(message: "'kf \(command.name)' cannot be run")
        }
    }

    private static func help(_ words: ArraySlice<String>) throws(UsageError) -> ExitStatus {
        if words == ["processors"] {
            Terminal.print(ProcessorHelp.text)
            return .success
        }
        if words.count == 1, let family = family(words) {
            Terminal.print(HelpText.text(for: family))
        } else {
            Terminal.print(words.isEmpty || words == ["help"] ? HelpText.overview : HelpText.text(for: try find(words)))
        }
        return .success
    }

    /// The commands that begin with the first word, when that alone is no command.
    private static func family(_ words: ArraySlice<String>) -> [CommandSpec]? {
        let family = CommandTable.all.filter { $0.words.count > 1 && $0.words[0] == words.first }
        return family.isEmpty ? nil : family
    }

    /// The command that the words begin with.
    private static func find(_ words: ArraySlice<String>) throws(UsageError) -> CommandSpec {
        if let command = CommandTable.all.first(where: { words.starts(with: $0.words) }) { return command }
        let first = words.first ?? ""
        if let family = family(words) {
            let choices = family.map { $0.words[1] }
            guard let second = words.dropFirst().first else {
                throw UsageError(message: "'kf \(first)' needs one of: \(choices.joined(separator: ", "))")
            }
            let hint = Suggestion.nearest(to: second, in: choices).map { "; did you mean '\($0)'?" } ?? ""
            throw UsageError(message: "'kf \(first)' has no command '\(second)'\(hint)")
        }
        throw UnknownWord.command(first)
    }
}
