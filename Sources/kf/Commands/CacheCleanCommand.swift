import KFCore

/// `kf cache clean`: what has expired and is over the limit, or what the options name.
struct CacheCleanCommand: Sendable {
    private let common: CommonSettings
    private let selection: CacheSelection?
    private let sizeLimit: Int64?
    private let removesAll: Bool
    private let dryRun: Bool
    private let isConfirmed: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        var selection = CacheSelection()
        selection.host = arguments.value("host")?.lowercased()
        selection.olderThan = try arguments.duration("older-than")
        selection.unusedFor = try arguments.duration("unused-for")
        let selects = selection.host != nil || selection.olderThan != nil || selection.unusedFor != nil
        self.selection = selects ? selection : nil
        sizeLimit = try arguments.size("max-size")
        removesAll = arguments.flag("all")
        dryRun = arguments.flag("dry-run")
        isConfirmed = arguments.flag("yes")
        if removesAll, selects || sizeLimit != nil {
            throw UsageError(message: "--all removes everything; leave the other choices out")
        }
    }

    func run() async -> ExitStatus {
        let cache = common.cache(sizeLimit: nil, access: dryRun ? .readOnly : .existing)
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
        if let sizeLimit { removal.add(try await cache.evict(to: sizeLimit, dryRun: dryRun, each: each)) }
        if selection != nil || sizeLimit != nil { return removal }
        removal.add(try await cache.removeExpired(dryRun: dryRun, each: each))
        if let summary = try await cache.summary(), summary.limit > 0 {
            removal.add(try await cache.evict(to: summary.limit, dryRun: dryRun, each: each))
        }
        return removal
    }
}
