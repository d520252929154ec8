import KFCore
import Synchronization

/// The arguments and filters of `ls`, `rm`, `clean`, `verify` and `report`: the entries that the command is about.
struct EntrySelection: Sendable {
    private let sources: [String]
    /// The patterns and keys of options, one of which, or of the sources, an entry has to match.
    private let choices: [SelectedEntries.Argument]
    private let filters: CacheSelection
    /// Why the text of `--processor` is not a processor; nil if it is one.
    private let processorProblem: String?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        sources = arguments.operands
        choices =
            try arguments[Options.globs].map { SelectedEntries.Argument(text: $0, glob: $0) }
            + arguments[Options.keys].map { SelectedEntries.Argument(text: $0, keys: [$0]) }
        var filters = CacheSelection()
        filters.host = try arguments[Options.host]
        filters.format = try arguments[Options.withFormat]
        filters.isExpired = try arguments[Options.expired]
        filters.olderThan = try arguments[Options.olderThan]
        filters.unusedFor = try arguments[Options.unusedFor]
        filters.largerThan = try arguments[Options.largerThan]
        filters.tags = Set(try arguments[Options.withTag])
        let processor = try arguments[Options.processor]
        filters.identifier = processor?.identifier
        processorProblem = processor?.problem
        self.filters = filters
    }

    var isEmpty: Bool { sources.isEmpty && choices.isEmpty && filters.selectsAll }

    /// Makes the selection for a cache. An argument that is not a source is reported. Nil if no argument is left, since a
    /// selection without arguments would be everything.
    func resolved(in cache: ImageCache, _ common: CommonSettings) async throws(KingfisherError) -> SelectedEntries? {
        var arguments: [SelectedEntries.Argument] = []
        var status = ExitStatus.success
        for text in sources {
            do throws(KingfisherError) {
                arguments.append(try await Self.argument(text, cache))
            } catch {
                if error.isCacheFailure { throw error }
                common.report(error, for: SourceArgument.name(text))
                status = .someFailed
            }
        }
        arguments += choices
        if arguments.isEmpty, !sources.isEmpty { return nil }
        return SelectedEntries(arguments, filters, processorProblem: processorProblem, status: status)
    }

    /// Makes the selection for a command that does not list the entries, and reports the arguments that match nothing. Nil
    /// if no argument is left.
    func noted(
        in cache: ImageCache, _ common: CommonSettings
    ) async throws(KingfisherError) -> (selection: CacheSelection, status: ExitStatus)? {
        if isEmpty { return (CacheSelection(), .success) }
        guard let entries = try await resolved(in: cache, common) else { return nil }
        try await entries.noteAll(in: cache)
        return (entries.selection, entries.conclude(common))
    }

    private static func argument(
        _ text: String, _ cache: ImageCache
    ) async throws(KingfisherError) -> SelectedEntries.Argument {
        let key = Result { () throws(KingfisherError) in try SourceArgument.cachedSource(text).cacheKey }
        // A URL with a query contains a question mark, and one of an IPv6 host a bracket. As a pattern it would match
        // other keys as well.
        let marks = RequestURL.isValid(text) ? "*" : "*?["
        guard text.contains(where: { marks.contains($0) }) else {
            return SelectedEntries.Argument(text: text, keys: [try key.get()])
        }
        guard case .success(let key) = key else { return SelectedEntries.Argument(text: text, glob: text) }
        var stored = CacheSelection()
        stored.keys = KeyChoice(keys: [key])
        let isCached = try await !cache.entries(stored, limit: 1).isEmpty
        return SelectedEntries.Argument(text: text, keys: [key], glob: isCached ? nil : text)
    }
}

extension ImageCache {
    /// The entries of a selection that fit into memory.
    func entries(
        _ selection: CacheSelection, order: EntryOrder = .url, limit: Int? = nil
    ) async throws(KingfisherError) -> [CachedEntry] {
        let found = Mutex<[CachedEntry]>([])
        _ = try await list(selection, order: order, limit: limit) { entry in
            found.withLock { $0.append(entry) }
            return true
        }
        return found.withLock { $0 }
    }
}

/// A selection of entries, which notes the arguments that match nothing.
final class SelectedEntries: Sendable {
    /// A URL or key, or a pattern, or both while it is not known which is meant.
    struct Argument: Sendable {
        let text: String
        var keys: [String] = []
        var glob: String?
    }

    private struct Found {
        var any = false
        var arguments: Set<Int> = []
    }

    let selection: CacheSelection
    private let arguments: [Argument]
    /// The arguments of each key.
    private let places: [String: [Int]]
    private let globs: [(argument: Int, choice: KeyChoice)]
    private let processorProblem: String?
    /// The exit status so far: some arguments may not be sources.
    private let status: ExitStatus
    private let found = Mutex(Found())
    /// The keys whose partial downloads are selected too. They have no other properties to select by.
    let partialKeys: [String]

    fileprivate init(
        _ arguments: [Argument], _ filters: CacheSelection, processorProblem: String?, status: ExitStatus
    ) {
        self.arguments = arguments
        self.processorProblem = processorProblem
        self.status = status
        var choice = KeyChoice()
        var places: [String: [Int]] = [:]
        var globs: [(Int, KeyChoice)] = []
        for (index, argument) in arguments.enumerated() {
            choice.keys.formUnion(argument.keys)
            for key in argument.keys { places[key, default: []].append(index) }
            guard let glob = argument.glob else { continue }
            choice.globs.append(glob)
            globs.append((index, KeyChoice(globs: [glob])))
        }
        var selection = filters
        selection.keys = arguments.isEmpty ? nil : choice
        self.selection = selection
        self.places = places
        self.globs = globs
        partialKeys = filters.selectsAll ? arguments.flatMap(\.keys) : []
    }

    /// Whether each entry has to be noted, since several arguments may match it.
    var needsNotes: Bool { arguments.count > 1 }

    func note(_ key: String) {
        found.withLock { found in
            found.any = true
            guard needsNotes, found.arguments.count < arguments.count else { return }
            for name in Set([key, KeyChoice.base(of: key)]) { found.arguments.formUnion(places[name] ?? []) }
            for (argument, choice) in globs where choice.selects(key) { found.arguments.insert(argument) }
        }
    }

    /// Notes that entries are selected, without saying which.
    func note(count: Int) { if count > 0 { found.withLock { $0.any = true } } }

    /// Notes every selected entry, for a command that does not list them.
    func noteAll(in cache: ImageCache) async throws(KingfisherError) {
        _ = try await cache.list(selection, order: .used, limit: needsNotes ? nil : 1) { [self] entry in
            note(entry.name.key)
            return true
        }
    }

    /// Reports the arguments that match nothing, or that nothing is selected, and returns the exit status.
    func conclude(_ common: CommonSettings) -> ExitStatus {
        let found = found.withLock { $0 }
        var status = status
        if !found.any, let processorProblem {
            Terminal.printFailure("kf: \(Terminal.visible(processorProblem))")
            return .usage
        }
        for (index, argument) in arguments.enumerated()
        where needsNotes ? !found.arguments.contains(index) : !found.any {
            status.raise(to: .someFailed)
            if argument.glob != nil {
                // A text that is not a URL may be meant as one, with a password in it.
                let shown = Terminal.visible(RequestURL.withoutUserInfo(argument.text))
                Terminal.printFailure("kf: nothing in the cache matches '\(shown)'")
            } else {
                common.report(
                    .cacheError(reason: .imageNotExisting(key: argument.text)),
                    for: SourceArgument.name(argument.text))
            }
        }
        if arguments.isEmpty, !found.any {
            status.raise(to: .someFailed)
            Terminal.printFailure("kf: nothing in the cache matches the filters")
        }
        return status
    }
}
