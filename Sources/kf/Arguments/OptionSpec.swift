/// One option as the table of its command declares it. Parsing, help, completions, the man page and the config file
/// all come from here.
struct OptionSpec: Sendable {
    let long: String
    let short: Character?
    /// Nil for a flag, which then has a `--no-` form too.
    let value: ValueKind?
    let isRepeatable: Bool
    /// One line for help, without its default.
    let help: String
    /// What holds when nothing is said, in the words of the option's own values; nil when that is nothing.
    let byDefault: String?
    /// Options that make no sense beside this one. A nearer layer (flags, environment, file) beats a farther one.
    let excludes: [String]
    /// The option is read from the command line alone: it names a file, or it chooses what is deleted.
    let isForCommandLineAlone: Bool
    /// What of a value is never shown.
    let secret: SecretValue?
    /// The heading under which long help and the man page list it.
    fileprivate(set) var group = ""

    init(
        _ long: String, short: Character? = nil, value: ValueKind? = nil, repeatable: Bool = false,
        byDefault: String? = nil, excludes: [String] = [], commandLineAlone: Bool = false,
        secret: SecretValue? = nil, help: String
    ) {
        self.long = long
        self.short = short
        self.value = value
        self.byDefault = byDefault
        self.excludes = excludes
        isForCommandLineAlone = commandLineAlone
        self.secret = secret
        isRepeatable = repeatable
        self.help = help
    }

    var isFlag: Bool { value == nil }

    /// The variable that gives a value when the command line does not: `KF_CACHE_DIR`. Nil for an option that is for the
    /// command line alone.
    var environmentVariable: String? { isForCommandLineAlone ? nil : variableName }

    /// The option's name as that of a variable, whether the variable is read or not.
    var variableName: String {
        // Byte by byte: every start asks this of every option, and Unicode's answer took a quarter of a millisecond.
        "KF_" + String(decoding: long.utf8.map(Self.variableByte), as: UTF8.self)
    }

    private static func variableByte(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 0x20
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte
        default: UInt8(ascii: "_")
        }
    }
}

extension [OptionSpec] {
    /// The same options under a heading.
    func grouped(_ heading: String) -> [OptionSpec] {
        map { option in
            var option = option
            option.group = heading
            return option
        }
    }
}
