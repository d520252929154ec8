import KFCore

/// `kf cache path`: prints the cached file of each source.
struct CachePathCommand: Sendable {
    private let common: CommonSettings
    private let settings: RetrievalSettings
    private let sources: [String]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        settings = try RetrievalSettings(arguments)
        sources = try settings.cachedSources(arguments, of: "kf cache path")
    }

    func run() async -> ExitStatus {
        let manager = KingfisherManager(cache: settings.cacheToRead(common))
        var status = ExitStatus.success
        for source in sources {
            for variant in settings.variants {
                do throws(KingfisherError) {
                    let found = try await manager.explain(
                        try SourceArgument.cachedSource(source, key: settings.key), options: variant.options)
                    guard let target = found.target, found.isTargetWhole, !target.isExpired || variant.options.offline
                    else { throw found.absence }
                    Terminal.print(common.json ? JSONObject(target, EntryTable.fields).json : target.path)
                } catch {
                    if !common.quiet {
                        common.report(
                            error,
                            for: common.verbose ? RequestURL.withoutUserInfo(source) : SourceArgument.name(source))
                    }
                    status.raise(to: error.isCacheFailure ? .cacheFailed : .someFailed)
                }
            }
        }
        return status
    }
}
