import KFCore
import Synchronization

/// Failures as commands of GitHub's workflows, which show each at its line of the list.
final class Annotations: Sendable {
    enum Choice: String, CaseIterable { case auto, github, none }

    /// GitHub shows no more of them.
    private static let most = 50

    private let level: String
    /// The directory that the paths of annotations are relative to, with a slash at its end; nil where none is known.
    private let root: String?
    private let texts = Mutex<Set<String>>([])

    /// Nil where nothing reads them.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        switch try arguments[Options.annotations] {
        case .none: return nil
        case .github: break
        case .auto: guard arguments.environment["GITHUB_ACTIONS"] == "true" else { return nil }
        }
        level = try arguments[Options.allowFailures] ? "warning" : "error"
        root = arguments.environment["GITHUB_WORKSPACE"].flatMap(OutputDirectory.real).map { $0 + "/" }
    }

    /// Prints a failure on standard error, which the runner reads as well as standard output.
    func add(_ error: KingfisherError, at item: PrefetchItem) {
        let isNamed = item.list != "-"
        let place = isNamed ? " file=\(Self.property(path(item.list))),line=\(item.line)" : ""
        // The line shows the source of a failure that has one.
        let subject = isNamed ? "" : "\(RequestURL.redacted(item.text)): "
        let message = String(Terminal.visible(subject + error.message).prefix(500))
        let text = "::\(level)\(place)::\(Self.escaped(message))"
        let isNew = texts.withLock { $0.count < Self.most && $0.insert(text).inserted }
        if isNew { Terminal.printPlainError(text) }
    }

    /// Returns the path of a list below the repository, or as it was given.
    private func path(_ list: String) -> String {
        guard let root, let real = OutputDirectory.real(list), real.hasPrefix(root) else { return list }
        return String(real.dropFirst(root.count))
    }

    /// A percent sign begins an escape, and a line break would begin a command of its own.
    private static func escaped(_ text: String) -> String {
        text.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
    }

    private static func property(_ text: String) -> String {
        escaped(text).replacing(":", with: "%3A").replacing(",", with: "%2C")
    }
}
