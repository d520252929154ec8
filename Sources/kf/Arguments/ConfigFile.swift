import Glibc

/// `$XDG_CONFIG_HOME/kf/config`: one long option a line, for every command that has it.
///
/// `jobs = 8`, `jobs 8` or `--jobs 8`; a flag stands alone. A value may stand in double quotes, with `\"`, `\\`, `\n`
/// and `\t` in it; behind one that does not, ` #` begins a comment.
struct ConfigFile: Sendable {
    let path: String
    private var settings: [String: Setting] = [:]

    /// The file's path; nil when there is neither variable to find it by.
    static func path(_ environment: [String: String]) -> String? {
        if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") { return base + "/kf/config" }
        return environment["HOME"].flatMap { $0.isEmpty ? nil : $0 + "/.config/kf/config" }
    }

    /// Nil when there is no such file.
    init?(environment: [String: String]) throws(UsageError) {
        guard let path = Self.path(environment), let text = try Self.read(path) else { return nil }
        try self.init(path: path, text: text)
    }

    init(path: String, text: String) throws(UsageError) {
        self.path = path
        var number = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            number += 1
            do throws(UsageError) {
                if let entry = try ConfigLine(line) { try take(entry, number) }
            } catch {
                throw UsageError(message: "\(path):\(number): \(error.message)")
            }
        }
    }

    func setting(_ option: OptionSpec) -> Setting? { settings[option.long] }

    private mutating func take(_ entry: ConfigLine, _ number: Int) throws(UsageError) {
        guard let (option, isNegated) = Self.find(entry.name) else {
            let hint = Suggestion.nearest(to: entry.name, in: CommandTable.allOptions.map(\.long))
            throw UsageError(
                message: "there is no option '\(entry.name)'" + (hint.map { "; did you mean '\($0)'?" } ?? ""))
        }
        guard option.environmentVariable != nil else {
            throw UsageError(message: "'\(option.long)' is for the command line alone, not for a file")
        }
        var setting = Setting(origin: .file(path: path, line: number))
        if option.isFlag {
            guard let isOn = Setting.flag(entry.value ?? "1") else {
                throw UsageError(message: "'\(option.long)' is a switch: true or false, not '\(entry.value ?? "")'")
            }
            setting.isOn = isOn != isNegated
        } else {
            guard let value = entry.value else {
                let kind = option.value?.placeholder ?? ""
                throw UsageError(message: "'\(option.long)' needs a value: \(option.long) = \(kind)")
            }
            // The line that complaints name is the last one.
            setting.values = (option.isRepeatable ? settings[option.long]?.values ?? [] : []) + [value]
        }
        settings[option.long] = setting
    }

    private static func find(_ name: String) -> (option: OptionSpec, isNegated: Bool)? {
        let options = CommandTable.allOptions
        if let option = options.first(where: { $0.long == name }) { return (option, false) }
        guard name.hasPrefix("no-"), let option = options.first(where: { $0.isFlag && $0.long == name.dropFirst(3) })
        else { return nil }
        return (option, true)
    }

    /// All of it, at most 1 MiB.
    private static func read(_ path: String) throws(UsageError) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw UsageError(message: "cannot read \(path): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        let limit = 1 << 20
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count <= limit {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            if count < 0 {
                if errno == EINTR { continue }
                throw UsageError(message: "cannot read \(path): \(String(cString: strerror(errno)))")
            }
            bytes += piece[..<count]
        }
        throw UsageError(message: "\(path) is larger than 1 MiB, which no list of options is")
    }
}
