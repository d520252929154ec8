/// `kf completions`: a script that makes a shell complete kf's command lines.
struct CompletionsCommand: Sendable {
    private let script: String

    init(_ arguments: ParsedArguments) throws(UsageError) {
        switch arguments.operands {
        case ["bash"]: script = BashCompletion.script
        case ["zsh"]: script = ZshCompletion.script
        case ["fish"]: script = FishCompletion.script
        default: throw UsageError(message: "'kf completions' needs the name of a shell: bash, zsh or fish")
        }
    }

    func run() -> ExitStatus {
        Terminal.print(script)
        return .success
    }
}
