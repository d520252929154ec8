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
    /// What of a value is never shown.
    let secret: SecretValue?
    /// The heading under which long help and the man page list it.
    fileprivate(set) var group = ""

    init(
        _ long: String, short: Character? = nil, value: ValueKind? = nil, repeatable: Bool = false,
        byDefault: String? = nil, excludes: [String] = [], secret: SecretValue? = nil, help: String
    ) {
        self.long = long
        self.short = short
        self.value = value
        self.byDefault = byDefault
        self.excludes = excludes
        self.secret = secret
        isRepeatable = repeatable
        self.help = help
    }

    var isFlag: Bool { value == nil }

    /// The variable that gives a value when the command line does not: `KF_CACHE_DIR`. What must be said each time has none.
    var environmentVariable: String? {
        if ["output", "all", "yes", "help"].contains(long) { return nil }
        // Byte by byte: every start asks this of every option, and Unicode's answer took a quarter of a millisecond.
        return "KF_" + String(decoding: long.utf8.map(Self.variableByte), as: UTF8.self)
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
