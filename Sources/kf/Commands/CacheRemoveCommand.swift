import KFCore

/// `kf cache rm`: URLs and keys with all their variants, patterns, or what a processor made.
struct CacheRemoveCommand: Sendable {
    private let common: CommonSettings
    private let sources: [String]
    /// Keys as `fetch --key` takes them.
    private let keys: [String]
    private let selections: [CacheSelection]
    private let identifier: String?
    private let dryRun: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        sources = arguments.operands
        keys = arguments.values("key")
        guard !keys.contains("") else { throw UsageError(message: "--key needs a key") }
        dryRun = arguments.flag("dry-run")
        var selections: [CacheSelection] = arguments.values("glob").map { glob in
            var selection = CacheSelection()
            selection.glob = glob
            return selection
        }
        if let spec = arguments.value("processor") {
            let identifier: String
            do { identifier = try ProcessorParser.parse(spec).identifier } catch {
                throw UsageError(message: error.message)
            }
            // An empty identifier is that of the originals.
            guard !identifier.isEmpty else {
                throw UsageError(message: "--processor needs a processor, such as resize:320x240")
            }
            self.identifier = identifier
            if selections.isEmpty, sources.isEmpty, keys.isEmpty { selections = [CacheSelection()] }
            for index in selections.indices { selections[index].identifier = identifier }
        } else {
            identifier = nil
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
        let given = keys.map(GivenKey.cacheKey)
        for (source, isKey) in sources.map({ ($0, false) }) + given.map({ ($0, true) }) {
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
                    let pattern = selection.glob.map { "fits '\($0)'" } ?? "was made so"
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
        // That nothing fits was said.
        if !removal.isEmpty || common.json { RemovalReport.print(removal, dryRun: dryRun, common) }
        return status
    }
}
