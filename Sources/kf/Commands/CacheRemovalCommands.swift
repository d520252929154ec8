import Glibc
import KFCore

/// `kf cache clean`: removes expired entries and enforces the limit, or removes what options select.
struct CacheCleanCommand: Sendable {
    private let common: CommonSettings
    private let selection: CacheSelection?
    /// The cache's limit, from any layer; nil stands for the default.
    private let sizeLimit: Int64?
    /// The size that eviction aims at; nil when the command line gives none.
    private let targetSize: Int64?
    private let removesAll: Bool
    private let dryRun: Bool
    private let isConfirmed: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        var selection = CacheSelection()
        selection.host = try arguments[Options.removedHost]
        selection.olderThan = try arguments[Options.olderThan]
        selection.unusedFor = try arguments[Options.unusedFor]
        let selects = selection.host != nil || selection.olderThan != nil || selection.unusedFor != nil
        self.selection = selects ? selection : nil
        sizeLimit = try arguments[Options.targetSize]
        targetSize = arguments.isOnCommandLine(Options.targetSize) ? sizeLimit : nil
        removesAll = try arguments[Options.all]
        dryRun = try arguments[Options.dryRun]
        isConfirmed = try arguments[Options.yes]
        if removesAll, selects || targetSize != nil {
            throw UsageError(message: "--all removes everything and cannot be combined with other choices")
        }
        if removesAll, !dryRun, !isConfirmed, !Confirmation.isPossible {
            throw UsageError(
                message: "--all removes everything and asks for confirmation; without a terminal, add --yes")
        }
    }

    func run() async -> ExitStatus {
        let cache = common.cache(sizeLimit: sizeLimit, access: dryRun ? .readOnly : .existing)
        do {
            if removesAll, !dryRun, !isConfirmed, !Confirmation.ask("Remove everything in \(common.cacheDirectory)?") {
                return .someFailed
            }
            let removal = try await remove(from: cache)
            await cache.close()
            RemovalReport.print(removal, dryRun: dryRun, common)
            return .success
        } catch {
            common.report(error, for: nil)
            return .cacheFailed
        }
    }

    private func remove(from cache: ImageCache) async throws(KingfisherError) -> Removal {
        let each = RemovalReport.each(common, dryRun: dryRun)
        if removesAll { return try await cache.removeAll(dryRun: dryRun, each: each) }
        var removal = Removal()
        if let selection { removal.add(try await cache.remove(selection, dryRun: dryRun, each: each)) }
        if selection == nil, targetSize == nil {
            removal.add(try await cache.removeExpired(dryRun: dryRun, each: each))
        }
        // With a selection, only a size on the command line removes more than what was selected.
        guard let summary = try await cache.summary() else { return removal }
        let limit = targetSize ?? (selection == nil ? summary.limit : 0)
        if limit > 0 { removal.add(try await cache.evict(to: limit, dryRun: dryRun, each: each)) }
        return removal
    }
}

/// `kf cache rm`: removes URLs and keys with every image made from them, patterns, or the images of a processor.
struct CacheRemoveCommand: Sendable {
    private let common: CommonSettings
    private let sources: [String]
    /// The cache keys of `--key`.
    private let keys: [String]
    private let selections: [CacheSelection]
    private let identifier: String?
    private let dryRun: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        sources = arguments.operands
        keys = try arguments[Options.removedKeys]
        dryRun = try arguments[Options.dryRun]
        identifier = try arguments[Options.processor]
        var selections: [CacheSelection] = try arguments[Options.globs].map { glob in
            var selection = CacheSelection()
            selection.glob = glob
            return selection
        }
        if let identifier {
            if selections.isEmpty, sources.isEmpty, keys.isEmpty { selections = [CacheSelection()] }
            for index in selections.indices { selections[index].identifier = identifier }
        }
        self.selections = selections
        guard !sources.isEmpty || !keys.isEmpty || !selections.isEmpty else {
            throw UsageError(
                message: "'kf cache rm' needs a URL, --key, --glob or --processor; 'kf cache clean --all' removes "
                    + "everything")
        }
    }

    func run() async -> ExitStatus {
        let cache = common.cache(sizeLimit: nil, access: dryRun ? .readOnly : .existing)
        let each = RemovalReport.each(common, dryRun: dryRun)
        var removal = Removal()
        var status = ExitStatus.success
        for (source, isKey) in sources.map({ ($0, false) }) + keys.map({ ($0, true) }) {
            do throws(KingfisherError) {
                let key = isKey ? source : try SourceArgument.key(source)
                let part = try await cache.removeImage(
                    forKey: key, processorIdentifier: identifier, dryRun: dryRun, each: each)
                if part.isEmpty { throw .cacheError(reason: .imageNotExisting(key: key)) }
                removal.add(part)
            } catch {
                common.report(error, for: SourceArgument.name(source))
                status.raise(to: error.isCacheFailure ? .cacheFailed : .someFailed)
            }
        }
        for selection in selections {
            do {
                let part = try await cache.remove(selection, dryRun: dryRun, each: each)
                if part.entries == 0 {
                    let pattern = selection.glob.map { "matches '\($0)'" } ?? "was made by this processor"
                    Terminal.printFailure("kf: nothing in the cache \(Terminal.visible(pattern))")
                    status.raise(to: .someFailed)
                }
                removal.add(part)
            } catch {
                common.report(error, for: nil)
                status.raise(to: .cacheFailed)
            }
        }
        await cache.close()
        // The message that nothing matches has been printed.
        if !removal.isEmpty || common.json { RemovalReport.print(removal, dryRun: dryRun, common) }
        return status
    }
}

/// The output of `clean` and `rm`.
enum RemovalReport {
    /// Returns the function that prints each removed entry; nil without `-v`.
    static func each(_ common: CommonSettings, dryRun: Bool) -> ImageCache.EachRemoved? {
        guard common.verbose else { return nil }
        return { name in
            guard common.json else { return Terminal.print(EntryText.name(name, whole: true)) }
            Terminal.print(JSONObject((name, dryRun), fields).json)
        }
    }

    static func print(_ removal: Removal, dryRun: Bool, _ common: CommonSettings) {
        if common.json {
            Terminal.print(JSONObject(summary: (removal, dryRun), summary).json)
        } else if !common.quiet {
            let verb = dryRun ? "would remove" : "removed"
            let entries = EntryText.count(removal.entries, "entry", "entries")
            var text = "\(verb) \(entries), \(ByteText.bytes(removal.bytes))"
            if removal.partials > 0 {
                text += " and \(EntryText.partials(removal.partials)), \(ByteText.bytes(removal.partialBytes))"
            }
            Terminal.print(text)
        }
    }

    /// One removed entry, printed with `-v`.
    static let fields: [JSONField<(name: EntryName, dryRun: Bool)>] = [
        JSONField("status", "With -v, for each entry: removed, or would_be_removed with --dry-run.") {
            $0.dryRun ? "would_be_removed" : "removed"
        },
        JSONField("key", CommonFields.key) { $0.name.key },
        JSONField("identifier", EntryTable.identifier) { $0.name.identifier },
    ]

    static let summary: [JSONField<(removal: Removal, dryRun: Bool)>] = [
        JSONField("dry_run", "Whether --dry-run was given, so that nothing was removed.") { $0.dryRun },
        JSONField("removed", "The number of removed entries, and their size.") { $0.removal.entries },
        JSONField("bytes", nil) { $0.removal.bytes },
        JSONField("partials", "The number of removed partial downloads, and their size.") { $0.removal.partials },
        JSONField("partial_bytes", nil) { $0.removal.partialBytes },
    ]
}

/// A question on the terminal, answered by yes or no.
enum Confirmation {
    /// Whether a question can be asked: standard input and standard error are terminals.
    static var isPossible: Bool { Terminal.isTerminal(STDIN_FILENO) && Terminal.isTerminal(STDERR_FILENO) }

    /// Asks the question. Any answer but yes means no.
    static func ask(_ question: String) -> Bool {
        Terminal.prompt("\(Terminal.visible(question)) [y/N] ")
        return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }
}
