import KFCore

/// What the user asked of one command: flags beat the environment, the environment beats the config file.
struct ParsedArguments: Sendable {
    let command: CommandSpec
    let operands: [String]
    private let settings: [String: Setting]

    init(_ line: CommandLineWords, environment: [String: String], file: ConfigFile?) throws(UsageError) {
        command = line.command
        operands = line.operands
        var settings = line.settings
        for option in command.options {
            guard settings[option.long] == nil else { continue }
            try Self.checkVariable(option, environment)
            settings[option.long] = try Self.setting(option, environment, file)
        }
        // Few options are set in a run, and the words of a kind are made each time that they are asked for.
        for option in command.options {
            guard let setting = settings[option.long], option.value?.choices.isEmpty == false else { continue }
            settings[option.long] = try Self.chosen(option, setting)
        }
        try Self.resolveConflicts(command, &settings)
        self.settings = settings
        if command.operands == nil, let first = operands.first {
            let shown = RequestURL.redacted(first)
            throw UsageError(message: "'kf \(command.name)' takes no arguments, but got '\(shown)'")
        }
    }

    func flag(_ long: String) -> Bool { settings[long]?.isOn ?? false }

    /// The last one given wins.
    func value(_ long: String) -> String? { settings[long]?.values.last }

    func values(_ long: String) -> [String] { settings[long]?.values ?? [] }

    /// Nil when nothing was said of it.
    func setting(_ long: String) -> Setting? { settings[long] }

    /// As `value`, of an option given on the command line; nil when only the environment or the config file gives it.
    func valueOnCommandLine(_ long: String) -> String? {
        settings[long]?.origin == .commandLine ? value(long) : nil
    }

    /// A variable that seems to choose what is deleted is refused: without it, the command would delete something else.
    private static func checkVariable(_ option: OptionSpec, _ environment: [String: String]) throws(UsageError) {
        guard option.isForCommandLineAlone, option.long != "help", let text = environment[option.variableName],
            !text.isEmpty
        else { return }
        throw UsageError(
            message: "\(option.variableName) is set, but --\(option.long) is for the command line alone; "
                + "unset the variable")
    }

    /// A value that cannot be meant: `--jobs takes …, not 'x'`, and where it stands when that is not the command line.
    func wrong(_ long: String, _ takes: String) -> UsageError {
        let value = value(long) ?? ""
        return UsageError(message: "--\(long) takes \(takes), not '\(value)'\(setting(long)?.origin.note ?? "")")
    }

    /// What the environment says of an option, else the file.
    static func setting(
        _ option: OptionSpec, _ environment: [String: String], _ file: ConfigFile?
    ) throws(UsageError) -> Setting? {
        guard let name = option.environmentVariable else { return nil }
        guard let text = environment[name], !text.isEmpty else { return file?.setting(option) }
        var setting = Setting(origin: .environment(variable: name))
        if option.isFlag {
            guard let isOn = Setting.flag(text) else {
                throw UsageError(message: "\(name) is a switch: 1 or 0, not '\(text)'")
            }
            setting.isOn = isOn
        } else {
            setting.values = option.isRepeatable ? text.split(separator: "\n").map(String.init) : [text]
        }
        return setting
    }

    /// Of an option with a list of words, the word as the list has it.
    private static func chosen(_ option: OptionSpec, _ setting: Setting) throws(UsageError) -> Setting {
        guard let kind = option.value else { return setting }
        var result = setting
        for index in setting.values.indices {
            guard let word = kind.choice(setting.values[index]) else {
                let hint = Suggestion.nearest(to: setting.values[index], in: kind.choices)
                throw UsageError(
                    message: "--\(option.long) takes \(Suggestion.list(kind.choices)), not '\(setting.values[index])'"
                        + (hint.map { "; did you mean '\($0)'?" } ?? "") + setting.origin.note)
            }
            result.values[index] = word
        }
        return result
    }

    private static func resolveConflicts(
        _ command: CommandSpec, _ settings: inout [String: Setting]
    ) throws(UsageError) {
        for option in command.options {
            for other in option.excludes {
                guard let one = settings[option.long], let two = settings[other],
                    !option.isFlag || one.isOn, command.option(long: other)?.isFlag != true || two.isOn
                else { continue }
                if one.origin.layer == two.origin.layer {
                    throw UsageError(
                        message: "--\(option.long) and --\(other) exclude each other"
                            + (one.origin == .commandLine ? "" : one.origin.note + two.origin.note))
                }
                settings[one.origin.layer < two.origin.layer ? other : option.long] = nil
            }
        }
    }
}
