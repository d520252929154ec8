/// Where a value comes from. A nearer layer beats a farther one.
enum Origin: Sendable, Equatable {
    case commandLine
    case environment(variable: String)
    case file(path: String, line: Int)

    /// Behind a complaint about the value: which place to change. Nothing where the user sees it anyway.
    var note: String {
        switch self {
        case .commandLine: ""
        case .environment(let variable): " (from \(variable))"
        case .file(let path, let line): " (\(path):\(line))"
        }
    }

    /// 0 is nearest.
    var layer: Int {
        switch self {
        case .commandLine: 0
        case .environment: 1
        case .file: 2
        }
    }
}

/// What one layer says of one option.
struct Setting: Sendable {
    /// Of an option that takes a value, in the order in which they were given.
    var values: [String] = []
    /// Of a flag.
    var isOn = false
    var origin: Origin

    /// `1` or `true`; nil when it is no switch's value.
    static func flag(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "1", "true", "yes", "on": true
        case "0", "false", "no", "off": false
        default: nil
        }
    }
}
