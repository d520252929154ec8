import KFCore

/// A command line, taken apart as its command's table says.
struct ParsedArguments: Sendable {
    let command: CommandSpec
    private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]
    private var flags: [String: Bool] = [:]

    init(
        _ command: CommandSpec, _ words: ArraySlice<String>, environment: [String: String]
    ) throws(UsageError) {
        self.command = command
        var rest = words
        while let word = rest.popFirst() {
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
        try takeEnvironment(environment)
        if command.operands == nil, let first = operands.first {
            throw UsageError(message: "'kf \(command.name)' takes no arguments, but got '\(first)'")
        }
    }

    /// What the command line leaves open, the environment may say.
    private mutating func takeEnvironment(_ environment: [String: String]) throws(UsageError) {
        for option in command.options {
            guard let name = option.environmentVariable, let text = environment[name], !text.isEmpty else { continue }
            if option.isFlag {
                guard flags[option.long] == nil else { continue }
                switch text.lowercased() {
                case "1", "true", "yes", "on": flags[option.long] = true
                case "0", "false", "no", "off": flags[option.long] = false
                default: throw UsageError(message: "\(name) is a switch: 1 or 0, not '\(text)'")
                }
            } else if values[option.long] == nil {
                values[option.long] =
                    option.isRepeatable ? text.split(separator: "\n").map(String.init) : [text]
            }
        }
    }

    func flag(_ long: String) -> Bool { flags[long] ?? false }

    /// The last one given wins.
    func value(_ long: String) -> String? { values[long]?.last }

    func values(_ long: String) -> [String] { values[long] ?? [] }

    private mutating func takeLong(_ word: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        if let option = command.option(long: name) {
            if option.isFlag {
                guard parts.count == 1 else { throw UsageError(message: "--\(name) takes no value") }
                flags[name] = true
            } else {
                try take(option, parts.count == 2 ? String(parts[1]) : nil, &rest)
            }
        } else if name.hasPrefix("no-"), let option = command.option(long: String(name.dropFirst(3))), option.isFlag {
            flags[option.long] = false
        } else {
            let known = command.options.map(\.long) + ["help"]
            let hint = Suggestion.nearest(to: name, in: known).map { "; did you mean '--\($0)'?" } ?? ""
            throw UsageError(message: "'kf \(command.name)' has no option --\(name)\(hint)")
        }
    }

    /// Flags may be bundled; the value of the last may follow at once: `-qo out.png`, `-j8`.
    private mutating func takeShort(_ word: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) {
        var letters = word
        while let letter = letters.popFirst() {
            guard let option = command.option(short: letter) else {
                throw UsageError(message: "'kf \(command.name)' has no option -\(letter)")
            }
            if option.isFlag {
                flags[option.long] = true
                continue
            }
            if letters.first == "=" { letters.removeFirst() }
            try take(option, letters.isEmpty ? nil : String(letters), &rest)
            return
        }
    }

    private mutating func take(
        _ option: OptionSpec, _ attached: String?, _ rest: inout ArraySlice<String>
    ) throws(UsageError) {
        guard let value = attached ?? rest.popFirst() else {
            throw UsageError(message: "--\(option.long) needs a value: \(option.value?.placeholder ?? "")")
        }
        values[option.long, default: []].append(value)
    }
}
