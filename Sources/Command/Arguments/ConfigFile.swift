import Glibc
import KFCore

/// `$XDG_CONFIG_HOME/kf/config`: one long option per line, for every command that has it.
///
/// A line is `jobs = 8`, `jobs 8` or `--jobs 8`, and a switch its name alone. A value in double quotes may hold `\"`,
/// `\\`, `\n` and `\t`. After a value without quotes, ` #` begins a comment.
struct ConfigFile: Sendable {
    let path: String
    private var settings: [String: Setting] = [:]

    /// The file's path; nil when neither XDG_CONFIG_HOME nor HOME is set.
    static func path(_ environment: [String: String]) -> String? {
        if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") { return base + "/kf/config" }
        return environment["HOME"].flatMap { $0.isEmpty ? nil : $0 + "/.config/kf/config" }
    }

    /// Nil when there is no such file.
    init?(environment: [String: String]) throws(UsageError) {
        guard let path = Self.path(environment), let text = try Self.read(path) else { return nil }
        self.path = path
        let known = CommandTable.allOptions
        var number = 0
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
            number += 1
            do throws(UsageError) {
                if let entry = try ConfigLine(line) { try take(entry, number, known) }
            } catch {
                throw UsageError(message: "\(path):\(number): \(error.message)")
            }
        }
    }

    func setting(_ option: OptionSpec) -> Setting? { settings[option.name] }

    private mutating func take(_ entry: ConfigLine, _ number: Int, _ known: [OptionSpec]) throws(UsageError) {
        guard let (option, isNegated) = known.named(entry.name) else {
            let hint = Hints.replaced(entry.name) ?? Suggestion.hint(for: entry.name, in: known.map(\.name))
            throw UsageError(message: "there is no option '\(entry.name)'\(hint)")
        }
        guard option.environmentVariable != nil else {
            throw UsageError(message: "'\(option.name)' works on the command line only, not in a file")
        }
        var setting = Setting(origin: .file(path: path, line: number))
        if let isOn = option.isSwitch ? Setting.flag(entry.value ?? "1") : nil {
            setting.isOn = isOn != isNegated
        } else if option.isFlag {
            throw UsageError(message: "'\(option.name)' is a switch: true or false, not '\(entry.value ?? "")'")
        } else {
            guard let value = entry.value else {
                let kind = option.value?.placeholder ?? ""
                throw UsageError(message: "'\(option.name)' needs a value: \(option.name) = \(kind)")
            }
            // A complaint names the last of the lines.
            setting.values = (option.isRepeatable ? settings[option.name]?.values ?? [] : []) + [value]
        }
        settings[option.name] = setting
    }

    /// Reads the whole file, of at most 1 MiB.
    private static func read(_ path: String) throws(UsageError) -> String? {
        let (bytes, isFIFO): ([UInt8], Bool)
        do throws(StorageError) {
            let file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK)
            isFIFO = try file.status().st_mode & S_IFMT == S_IFIFO
            bytes = isFIFO ? [] : try file.readAll(limit: 1 << 20)
        } catch .system(_, _, let code) where code == ENOENT || code == ENOTDIR {
            return nil
        } catch .system(_, _, EFBIG) {
            throw UsageError(message: "\(path) is larger than 1 MiB")
        } catch {
            throw UsageError(message: "cannot read \(path): \(error.reason)")
        }
        if isFIFO { throw UsageError(message: "cannot read \(path): it is a FIFO") }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// One line of the config file: an option's name, and its value.
private struct ConfigLine {
    /// The name without leading dashes.
    let name: String
    /// Nil when the line has only a name.
    let value: String?

    /// Nil when the line is blank or a comment.
    init?(_ line: Substring) throws(UsageError) {
        let line = Self.trimmed(line)
        guard let first = line.first, first != "#" else { return nil }
        let bare = line.hasPrefix("--") ? line.dropFirst(2) : line
        let name = bare.prefix { !Self.isSpace($0) && $0 != "=" && $0 != ":" }
        self.name = String(name)
        var rest = Self.trimmed(bare.dropFirst(name.count))
        let hasMark = rest.first == "=" || rest.first == ":"
        if hasMark { rest = Self.trimmed(rest.dropFirst()) }
        if rest.first == "\"" {
            value = try Self.quoted(rest.dropFirst())
        } else {
            rest = Self.withoutComment(rest)
            value = rest.isEmpty && !hasMark ? nil : String(rest)
        }
    }

    private static func isSpace(_ character: Character) -> Bool {
        character == " " || character == "\t" || character == "\r" || character == "\r\n"
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }

    private static func withoutComment(_ text: Substring) -> Substring {
        var before: Character = " "
        for index in text.indices {
            if text[index] == "#", isSpace(before) { return trimmed(text[..<index]) }
            before = text[index]
        }
        return text
    }

    private static func quoted(_ text: Substring) throws(UsageError) -> String {
        var result = ""
        var rest = text
        while let character = rest.popFirst() {
            switch character {
            case "\"":
                let behind = withoutComment(trimmed(rest))
                guard behind.isEmpty else { throw UsageError(message: "there is text after the closing quote") }
                return result
            case "\\":
                guard let escaped = rest.popFirst() else { break }
                switch escaped {
                case "n": result += "\n"
                case "t": result += "\t"
                case "\"", "\\": result.append(escaped)
                default: throw UsageError(message: "'\\\(escaped)' is unknown; the known ones are \\\" \\\\ \\n \\t")
                }
            default: result.append(character)
            }
        }
        throw UsageError(message: "a closing quote is missing")
    }
}
