import KFCore
import KFSystem

enum CachePathCommand {
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let sources = try CachedSources(arguments, of: "kf cache path")
        let (common, isOffline) = (sources.common, sources.settings.options.offline)
        return sources.each { (_, _, found) throws(KingfisherError) in
            guard let target = found.target, found.isTargetWhole, !target.isExpired || isOffline else {
                throw found.absence
            }
            Terminal.print(common.json ? JSONObject(target, EntryTable.fields).json : target.path)
        } failed: { error, source in
            guard !common.quiet else { return }
            let name = common.verbose ? RequestURL.withoutUserInfo(source) : SourceArgument.name(source)
            common.report(error, for: name)
        }
    }
}

/// The sources of a command that looks at the cache, with the options of the fetch in question.
struct CachedSources: Sendable {
    let common: CommonSettings
    let settings: RetrievalSettings
    /// The operands, or the key alone.
    private let sources: [String]

    init(_ arguments: ParsedArguments, of command: String) throws(UsageError) {
        common = try CommonSettings(arguments)
        settings = try RetrievalSettings(arguments)
        try settings.checkKey(arguments.operands)
        sources = arguments.operands.isEmpty ? [settings.key].compactMap(\.self) : arguments.operands
        guard !sources.isEmpty else { throw UsageError(message: "'\(command)' needs a URL, a file or a data: URI") }
    }

    /// Calls `body` with each source, as text and as a source, and what is cached of each of its variants. Blocks.
    func each(
        asksRemotes: Bool = false,
        _ body: @escaping @Sendable (String, Source, CacheExplanation) throws(KingfisherError) -> Void,
        failed: @escaping @Sendable (KingfisherError, String) -> Void
    ) -> ExitStatus {
        let manager = KingfisherManager(cache: settings.cacheToRead(common))
        let settings = settings.withOverlays(manager, isLook: true)
        return Blocking.wait {
            var status = ExitStatus.success
            for text in sources {
                for variant in settings.variants {
                    do throws(KingfisherError) {
                        let source = try SourceArgument.cachedSource(text, key: settings.key)
                        let found = try await manager.explain(
                            source, options: variant.options, asksRemotes: asksRemotes)
                        try body(text, source, found)
                    } catch {
                        failed(error, text)
                        status.raise(to: error.status)
                    }
                }
            }
            return status
        }
    }
}
