import KFCore
import KFSystem

/// A command: its words, its options, its help, and the code that runs it.
struct CommandSpec: Sendable {
    /// `["cache", "stat"]`
    let words: [String]
    let summary: String
    /// The operands in usage lines; nil for a command that takes none.
    let operands: String?
    /// The options in the order of help.
    private let makeOptions: @Sendable () -> [OptionSpec]
    let examples: @Sendable () -> [String]
    /// Paragraphs for long help and the manual page.
    let details: @Sendable () -> [String]
    /// The names of the options that short help (`-h`) shows; none means all.
    let essential: @Sendable () -> String
    /// Whether the command opens the cache, so that the limit on open files must be high enough.
    let opensCache: Bool
    let run: @Sendable (ParsedArguments) throws(UsageError) -> ExitStatus

    /// All but the words and `run` is made when it is asked for: a start makes the options of one command only.
    init(
        _ words: String..., summary: String, operands: String? = nil,
        options: @autoclosure @escaping @Sendable () -> [OptionSpec],
        examples: @autoclosure @escaping @Sendable () -> [String],
        details: @autoclosure @escaping @Sendable () -> [String] = [],
        essential: @autoclosure @escaping @Sendable () -> String = "", opensCache: Bool = true,
        run: @escaping @Sendable (ParsedArguments) throws(UsageError) -> ExitStatus
    ) {
        self.words = words
        self.summary = summary
        self.operands = operands
        makeOptions = options
        self.examples = examples
        self.details = details
        self.essential = essential
        self.opensCache = opensCache
        self.run = run
    }

    var name: String { words.joined(separator: " ") }

    var options: [OptionSpec] { makeOptions() }

    func option(named name: String) -> OptionSpec? { options.first { $0.name == name } }
}

/// The words behind a command, split into operands and the settings of options.
struct CommandLineWords: Sendable {
    enum Help: Sendable {
        /// `-h`
        case short
        /// `--help`
        case long
    }

    let command: CommandSpec
    let options: [OptionSpec]
    private(set) var operands: [String] = []
    private(set) var settings: [String: Setting] = [:]
    /// The form of help that is asked for. The words behind it are not looked at.
    private(set) var help: Help?

    init(_ command: CommandSpec, _ words: ArraySlice<String>) throws(UsageError) {
        self.command = command
        options = command.options
        var rest = words
        while help == nil, let word = rest.popFirst() {
            if word == "--" {
                operands += rest
                break
            }
            if word.hasPrefix("--") {
                try takeLong(word.dropFirst(2), &rest)
            } else if word.hasPrefix("-"), word != "-" {
                try takeShort(word.dropFirst(), &rest)
            } else {
                operands.append(word)
            }
        }
    }

    /// Removes the secrets from the process's own command line, which other users can read.
    func hideSecrets() {
        for (name, setting) in settings {
            guard let secret = options.first(where: { $0.name == name })?.secret else { continue }
            for value in setting.values {
                if let part = secret.part(of: value) { RawText.hideArgument(value, only: part) }
            }
        }
        for operand in operands where operand.utf8.contains(UInt8(ascii: "@")) && operand.contains("://") {
            if let part = SecretValue.userInfo(of: operand) { RawText.hideArgument(operand, only: part) }
        }
    }

    private func option(long name: some StringProtocol) -> OptionSpec? { options.first { $0.name == name } }

    private func option(short letter: Character) -> OptionSpec? { options.first { $0.short == letter } }

    private mutating func takeLong(_ word: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts[0]
        guard let (option, isNegated) = options.named(name) else { throw unknown(String(name)) }
        guard option.isFlag || isNegated else {
            return try take(option, "--\(name)", parts.count == 2 ? String(parts[1]) : nil, &rest)
        }
        guard isNegated || parts.count == 1 else {
            throw UsageError(message: "--\(name) takes no value; --no-\(name) turns it off")
        }
        set(option, !isNegated, help: .long)
    }

    /// Switches may be bundled, and the value of the last option may follow at once: `-qo out.png`, `-j8`.
    private mutating func takeShort(_ word: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) {
        let name = word.prefix { $0 != "=" }
        if name.count > 1, option(long: name) != nil {
            throw UsageError(message: "'-\(name)' is read as several short options; did you mean '--\(name)'?")
        }
        var letters = word
        while let letter = letters.popFirst() {
            guard let option = option(short: letter) else {
                let hint = (hasHints ? Hints.option(letter) : nil) ?? "; 'kf help \(command.name)' lists them"
                throw UsageError(message: "'kf \(command.name)' has no option -\(letter)\(hint)")
            }
            if option.isFlag {
                set(option, true, help: .short)
                continue
            }
            if letters.first == "=" { letters.removeFirst() }
            try take(option, "-\(letter)", letters.isEmpty ? nil : String(letters), &rest)
            return
        }
    }

    private mutating func set(_ option: OptionSpec, _ isOn: Bool, help form: Help) {
        if option === Options.help.spec {
            if isOn { help = form }
        } else {
            settings[option.name] = Setting(isOn: isOn, origin: .commandLine)
        }
    }

    private mutating func take(
        _ option: OptionSpec, _ name: String, _ attached: String?, _ rest: inout ArraySlice<String>
    ) throws(UsageError) {
        let kind = option.value?.placeholder ?? ""
        if option.isValueOptional, attached == nil, rest.first.map({ option.value?.hasWord($0) ?? false }) != true {
            settings[option.name, default: Setting(origin: .commandLine)].isOn = true
            return
        }
        guard let value = attached ?? rest.popFirst() else {
            throw UsageError(message: "\(name) needs a value: \(name) \(kind)")
        }
        // A value that looks like an option can be given with =.
        if attached == nil, isOption(value) {
            throw UsageError(message: "\(name) needs a value: \(name) \(kind); it is followed by the option \(value)")
        }
        settings[option.name, default: Setting(origin: .commandLine)].values.append(value)
    }

    /// Whether the word is exactly a known option, so that a value was probably forgotten before it.
    private func isOption(_ word: String) -> Bool {
        if word.hasPrefix("--") {
            let name = word.dropFirst(2).prefix { $0 != "=" }
            return option(long: name) != nil || name.hasPrefix("no-") && option(long: name.dropFirst(3)) != nil
        }
        return word.count == 2 && word.hasPrefix("-") && word.last.flatMap(option(short:)) != nil
    }

    /// Whether the command fetches. The hints are for the users of other programs that do.
    private var hasHints: Bool { option(long: Options.jobs.name) != nil }

    private func unknown(_ name: String) -> UsageError {
        let known = options.flatMap { $0.isSwitch ? [$0.name, "no-" + $0.name] : [$0.name] }
        let hint =
            Hints.replaced(name, of: command.name) ?? owners(of: name).map { "; it is an option of \($0)" }
            ?? (hasHints ? Hints.option(name) : nil)
            ?? NearestName.to(name, in: known).map { "; did you mean '--\($0)'?" }
            ?? "; 'kf help \(command.name)' lists them"
        return UsageError(message: "'kf \(command.name)' has no option --\(name)\(hint)")
    }

    /// The commands that have the option; nil when none has it.
    private func owners(of name: String) -> String? {
        let bare = name.hasPrefix("no-") ? String(name.dropFirst(3)) : name
        let owners = CommandTable.all.filter {
            $0.option(named: name) != nil || $0.option(named: bare)?.isSwitch == true
        }
        return owners.isEmpty ? nil : Suggestion.list(owners.map { "'kf \($0.name)'" }, last: "and")
    }
}

/// The arguments of one command. The command line beats the environment, the environment beats the config file.
struct ParsedArguments: Sendable {
    let operands: [String]
    let environment: [String: String]
    let file: ConfigFile?
    private let settings: [String: Setting]
    private let options: [OptionSpec]

    init(_ line: CommandLineWords, environment: [String: String], file: ConfigFile?) throws(UsageError) {
        operands = line.operands
        self.environment = environment
        self.file = file
        var settings = line.settings
        let named = environment.keys.filter { $0.hasPrefix("KF_") }.map(Self.optionName)
        if !named.isEmpty { try Self.checkNames(environment, line.options) }
        // The names of all variables would cost a twelfth of a start.
        for option in line.options where file != nil || named.contains(option.name) {
            if settings[option.name] != nil { continue }
            try Self.checkVariable(option, environment)
            settings[option.name] = try Self.setting(option, environment, file)
        }
        try Self.resolveConflicts(line.options, &settings)
        self.settings = settings
        options = line.options
        if line.command.operands == nil, let first = operands.first {
            let shown = RequestURL.redacted(first)
            throw UsageError(message: "'kf \(line.command.name)' takes no arguments, but got '\(shown)'")
        }
    }

    /// The variables that do not set an option.
    static let otherVariables = ["KF_TRUST_CACHE_DIR", "KF_PROGRESS_INTERVAL"]

    /// Refuses a variable whose name is nearly that of an option: it would be without effect.
    private static func checkNames(_ environment: [String: String], _ own: [OptionSpec]) throws(UsageError) {
        let strange = environment.keys.filter { name in
            guard name.hasPrefix("KF_"), !otherVariables.contains(name) else { return false }
            let option = optionName(name)
            return !own.contains { $0.name == option }
        }
        if strange.isEmpty { return }
        let known = CommandTable.allOptions.map(\.variableName) + otherVariables
        for name in strange.sorted() where !known.contains(name) {
            if environment[name]?.isEmpty == false, let hint = Hints.replaced(optionName(name)) {
                throw UsageError(message: "there is no option for the variable \(name)\(hint)")
            }
            let words = known.map { String($0.dropFirst(3)) }
            guard let near = NearestName.to(String(name.dropFirst(3)), in: words) else { continue }
            throw UsageError(message: "there is no option for the variable \(name); did you mean 'KF_\(near)'?")
        }
    }

    /// The option that a variable is of: `KF_CACHE_DIR` of `cache-dir`.
    private static func optionName(_ variable: String) -> String {
        String(decoding: variable.utf8.dropFirst(3).map { $0 == 0x5F ? 0x2D : $0 | 0x20 }, as: UTF8.self)
    }

    /// The option's value, or its default when no layer gives one.
    subscript<Value>(_ option: Option<Value>) -> Value {
        get throws(UsageError) {
            guard let setting = settings[option.name] else { return option.absent }
            if option.spec.isValueOptional, setting.values.isEmpty { return option.absent }
            return try option.parse(
                Given(spec: option.spec, texts: setting.values, isOn: setting.isOn, origin: setting.origin))
        }
    }

    func text<Value>(of option: Option<Value>) -> String? { settings[option.name]?.values.last }

    /// Whether an option with an optional value was given without one.
    func isBare<Value>(_ option: Option<Value>) -> Bool {
        option.spec.isValueOptional && settings[option.name]?.isOn == true
    }

    func isOnCommandLine<Value>(_ option: Option<Value>) -> Bool { settings[option.name]?.origin == .commandLine }

    /// Refuses options on the command line that have no effect without another one.
    func refuse(_ options: [OptionSpec], without other: String) throws(UsageError) {
        for option in options where settings[option.name]?.origin == .commandLine {
            throw UsageError(message: "--\(option.name) needs \(other)")
        }
    }

    /// The layer that the value is from, 0 for the command line; nil for the default.
    func layer<Value>(of option: Option<Value>) -> Int? { settings[option.name]?.origin.layer }

    func setting(of option: OptionSpec) -> Setting? { settings[option.name] }

    /// The files that the options name, for reading or writing, and that of the configuration.
    var files: [String] { optionFiles.map(\.path) + [file?.path].compactMap(\.self) }

    private var optionFiles: [(option: OptionSpec, path: String)] {
        options.flatMap { option -> [(OptionSpec, String)] in
            guard let setting = settings[option.name], option.value?.completion == .files else { return [] }
            return setting.values.map { (option, $0) }
        }
    }

    /// Refuses an option that writes a file which the run reads, or which another option names. `-` is standard input.
    func refuseSharedFiles(reading inputs: @autoclosure () -> [String]) throws(UsageError) {
        // A hit with none of them does not pay for the others.
        guard settings.contains(where: { Options.written.contains($0.key) }) else { return }
        let files = optionFiles
        for (output, path) in files where Options.written.contains(output.name) {
            // -o names the file that it replaces.
            let read = output.name == Options.output.name ? [] : inputs()
            if let input = read.first(where: { AppendedFile.isSameFile(path, $0) }) {
                throw UsageError(message: "--\(output.name) would overwrite \(input), which the run reads")
            }
            for (other, file) in files where other !== output && AppendedFile.isSameFile(path, file) {
                throw UsageError(message: "--\(output.name) and --\(other.name) name the same file, \(path)")
            }
        }
    }

    /// Refuses a variable that seems to choose what is deleted. If it were ignored, something else would be deleted.
    private static func checkVariable(_ option: OptionSpec, _ environment: [String: String]) throws(UsageError) {
        guard option.isForCommandLineAlone, !option.isHomonym, option !== Options.help.spec,
            let text = environment[option.variableName], !text.isEmpty
        else { return }
        throw UsageError(
            message: "\(option.variableName) is set, but --\(option.name) works on the command line only; "
                + "unset the variable")
    }

    /// The setting of an option in the environment, else in the file.
    static func setting(
        _ option: OptionSpec, _ environment: [String: String], _ file: ConfigFile?
    ) throws(UsageError) -> Setting? {
        guard let name = option.environmentVariable else { return nil }
        guard let text = environment[name], !text.isEmpty else { return file?.setting(option) }
        var setting = Setting(origin: .environment(variable: name))
        if let isOn = option.isSwitch ? Setting.flag(text) : nil {
            setting.isOn = isOn
        } else if option.isFlag {
            throw UsageError(message: "\(name) is a switch: 1 or 0, not '\(text)'")
        } else {
            setting.values = option.isRepeatable ? text.split(separator: "\n").map(String.init) : [text]
        }
        return setting
    }

    private static func resolveConflicts(
        _ options: [OptionSpec], _ settings: inout [String: Setting]
    ) throws(UsageError) {
        guard settings.count > 1 else { return }
        for option in options {
            for other in option.excludes {
                guard let one = settings[option.name], let two = settings[other],
                    !option.isFlag || one.isOn, options.first(where: { $0.name == other })?.isFlag != true || two.isOn
                else { continue }
                if one.origin.layer == two.origin.layer {
                    throw UsageError(
                        message: "--\(option.name) and --\(other) exclude each other"
                            + (one.origin == .commandLine ? "" : one.origin.note + two.origin.note))
                }
                settings[one.origin.layer < two.origin.layer ? other : option.name] = nil
            }
        }
    }
}
