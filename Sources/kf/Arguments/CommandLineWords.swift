/// The words behind a command, taken apart as its table says.
struct CommandLineWords: Sendable {
    enum Help: Sendable {
        /// `-h`
        case short
        /// `--help`
        case long
    }

    let command: CommandSpec
    private(set) var operands: [String] = []
    private(set) var settings: [String: Setting] = [:]
    /// Asked for: what comes behind it is not looked at.
    private(set) var help: Help?

    init(_ command: CommandSpec, _ words: ArraySlice<String>) throws(UsageError) {
        self.command = command
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

    private mutating func takeLong(_ word: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        if let option = command.option(long: name) {
            if option.isFlag {
                guard parts.count == 1 else {
                    throw UsageError(message: "--\(name) takes no value; --no-\(name) turns it off")
                }
                set(option, true, help: .long)
            } else {
                try take(option, "--\(name)", parts.count == 2 ? String(parts[1]) : nil, &rest)
            }
        } else if name.hasPrefix("no-"), let option = command.option(long: String(name.dropFirst(3))), option.isFlag {
            set(option, false, help: .long)
        } else {
            throw UnknownWord.option(name, of: command)
        }
    }

    /// Flags may be bundled; the value of the last may follow at once: `-qo out.png`, `-j8`.
    private mutating func takeShort(_ word: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) {
        let name = word.prefix { $0 != "=" }
        if name.count > 1, command.option(long: String(name)) != nil {
            throw UsageError(message: "'-\(name)' is many short options; did you mean '--\(name)'?")
        }
        var letters = word
        while let letter = letters.popFirst() {
            guard let option = command.option(short: letter) else {
                throw UsageError(
                    message: "'kf \(command.name)' has no option -\(letter); 'kf help \(command.name)' lists them")
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
        if option.long == "help" {
            if isOn { help = form }
        } else {
            settings[option.long] = Setting(isOn: isOn, origin: .commandLine)
        }
    }

    private mutating func take(
        _ option: OptionSpec, _ name: String, _ attached: String?, _ rest: inout ArraySlice<String>
    ) throws(UsageError) {
        let kind = option.value?.placeholder ?? ""
        guard let value = attached ?? rest.popFirst() else {
            throw UsageError(message: "\(name) needs a value: \(name) \(kind)")
        }
        // Whoever means a value of that form can say so with =.
        if attached == nil, isOption(value) {
            throw UsageError(message: "\(name) needs a value: \(name) \(kind); what follows is the option \(value)")
        }
        settings[option.long, default: Setting(origin: .commandLine)].values.append(value)
    }

    /// Exactly a known option: a value has been forgotten before it.
    private func isOption(_ word: String) -> Bool {
        if word.hasPrefix("--") {
            let name = word.dropFirst(2).prefix { $0 != "=" }
            return command.option(long: String(name)) != nil
                || name.hasPrefix("no-") && command.option(long: String(name.dropFirst(3))) != nil
        }
        return word.count == 2 && word.hasPrefix("-") && word.last.flatMap(command.option(short:)) != nil
    }
}
