import Glibc
import Synchronization

/// Whether a stream gets colours: `--color` decides, else `NO_COLOR`, `CLICOLOR_FORCE`, `TERM`, and what the stream is.
enum ColorChoice: UInt8 {
    case auto, always, never

    private static let current = Atomic<UInt8>(ColorChoice.auto.rawValue)

    /// Of `--color`; nil leaves it to the environment.
    static func set(_ word: String?) {
        let choice: ColorChoice = word == "always" ? .always : word == "never" ? .never : .auto
        current.store(choice.rawValue, ordering: .relaxed)
    }

    static func isOn(_ descriptor: Int32) -> Bool {
        switch ColorChoice(rawValue: current.load(ordering: .relaxed)) {
        case .always: return true
        case .never: return false
        case .auto, nil:
            if let no = variable("NO_COLOR"), !no.isEmpty { return false }
            if let force = variable("CLICOLOR_FORCE"), !force.isEmpty, force != "0" { return true }
            guard let term = variable("TERM"), !term.isEmpty, term != "dumb" else { return false }
            return isatty(descriptor) == 1
        }
    }

    /// The program's name in bold, a warning's mark in yellow.
    static func message(_ line: String) -> String {
        let warning = "kf: warning: "
        if line.hasPrefix(warning) {
            return "\u{1b}[1mkf:\u{1b}[0m \u{1b}[1;33mwarning:\u{1b}[0m \(line.dropFirst(warning.count))"
        }
        return line.hasPrefix("kf:") ? "\u{1b}[1mkf:\u{1b}[0m\(line.dropFirst(3))" : line
    }

    /// The program's name in red.
    static func failure(_ line: String) -> String {
        line.hasPrefix("kf:") ? "\u{1b}[1;31mkf:\u{1b}[0m\(line.dropFirst(3))" : line
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
