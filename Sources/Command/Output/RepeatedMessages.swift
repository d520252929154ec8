import Synchronization

/// The messages that differ only in their source. Ten of each kind are printed; the others are counted, and the count is
/// printed at the end.
final class RepeatedMessages: Sendable {
    private struct Kind {
        var count = 0
        /// The first message that was not printed, with words for the number of them.
        var text = ""
    }

    private static let limit = 10
    /// The number of kinds that are told apart, so that memory does not grow with a list. Others are all printed.
    private static let mostKinds = 1000

    private let kinds = Mutex<[String: Kind]>([:])

    /// Counts a message, and returns whether it is to be printed. `prefix` begins the line, and the reason follows the
    /// source. Numbers and times in a reason make no other kind; `code` does.
    func admits(_ prefix: String, _ reason: String, code: String = "") -> Bool {
        let key = prefix + code + Self.withoutNumbers(reason)
        return kinds.withLock { kinds in
            guard kinds[key] != nil || kinds.count < Self.mostKinds else { return true }
            kinds[key, default: Kind()].count += 1
            guard let kind = kinds[key], kind.count > Self.limit else { return true }
            if kind.text.isEmpty { kinds[key]?.text = "\(prefix)\u{0}\(reason)" }
            return false
        }
    }

    private static let units = ["ms", "s", "min", "h", "second", "seconds", "minute", "minutes", "hour", "hours"]

    /// The words, with `#` for a number and the unit of time behind it.
    private static func withoutNumbers(_ reason: String) -> String {
        var words: [String] = []
        for word in reason.split(separator: " ") {
            if word.first?.isNumber == true {
                words.append("#")
            } else if words.last != "#" || !units.contains(word.filter(\.isLetter)) {
                words.append(word.filter { !$0.isNumber })
            }
        }
        return words.joined(separator: " ")
    }

    /// Prints the counts of the messages that were not printed. A later call prints those of later messages.
    func finish() {
        let kinds = kinds.withLock { kinds in
            defer { kinds = [:] }
            return kinds.values.filter { $0.count > Self.limit }
        }
        for kind in kinds.sorted(by: { $0.count > $1.count }) {
            let parts = kind.text.split(separator: "\u{0}", maxSplits: 1)
            let line = "\(parts[0])\(kind.count - Self.limit) more: \(Terminal.visible(String(parts[1])))"
            if line.hasPrefix("kf: warning: ") { Terminal.printError(line) } else { Terminal.printFailure(line) }
        }
    }
}
