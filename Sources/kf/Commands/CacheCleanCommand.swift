import KFCore

/// `kf cache clean`: what has expired and is over the limit, or what the options on the command line choose.
struct CacheCleanCommand: Sendable {
    private let common: CommonSettings
    private let selection: CacheSelection?
    /// The cache's limit, from any layer; nil is the default.
    private let sizeLimit: Int64?
    /// The size to go down to; nil when the command line gives none.
    private let targetSize: Int64?
    private let removesAll: Bool
    private let dryRun: Bool
    private let isConfirmed: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        var selection = CacheSelection()
        selection.host = try arguments.host("host")
        selection.olderThan = try arguments.duration("older-than")
        selection.unusedFor = try arguments.duration("unused-for")
        let selects = selection.host != nil || selection.olderThan != nil || selection.unusedFor != nil
        self.selection = selects ? selection : nil
        sizeLimit = try arguments.size("max-size")
        targetSize = arguments.valueOnCommandLine("max-size") == nil ? nil : sizeLimit
        removesAll = arguments.flag("all")
        dryRun = arguments.flag("dry-run")
        isConfirmed = arguments.flag("yes")
        if removesAll, selects || targetSize != nil {
            throw UsageError(message: "--all removes everything; leave the other choices out")
        }
        if removesAll, !dryRun, !isConfirmed, !Confirmation.isPossible {
            throw UsageError(
                message: "--all removes everything, and there is no terminal to ask on; confirm with --yes")
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
