import KFCore

/// `kf fetch`: images to a path, a file or standard output.
struct FetchCommand: Sendable {
    private let common: CommonSettings
    private let settings: RetrievalSettings
    private let destination: Destination
    private let sources: [String]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        settings = try RetrievalSettings(arguments)
        sources = arguments.operands
        guard !sources.isEmpty else {
            throw UsageError(message: "'kf fetch' needs a source: a URL, a file, a data: URI, or - for standard input")
        }
        destination = try Destination(arguments, sources: sources.count, json: common.json)
        if case .cache = destination, settings.options.diskCacheExpiration == .expired {
            throw UsageError(message: "with --expire expired nothing is stored; say where to write with -o or --output-dir")
        }
    }

    func run() async -> ExitStatus {
        let manager = settings.manager(common)
        var status = ExitStatus.success
        await withTaskGroup(of: (Int, ItemReport).self) { group in
            var next = 0
            var waiting: [Int: ItemReport] = [:]
            var printed = 0
            while printed < sources.count {
                while next < sources.count, next - printed < settings.jobs * 2 {
                    let index = next
                    group.addTask { (index, await fetch(sources[index], index, manager)) }
                    next += 1
                }
                guard let (index, report) = await group.next() else { break }
                waiting[index] = report
                // Results come in the order of the sources, whichever is ready first.
                while let report = waiting.removeValue(forKey: printed) {
                    status.raise(to: report.print(common))
                    printed += 1
                }
            }
        }
        await manager.shutdown()
        return status
    }

    private func fetch(_ text: String, _ index: Int, _ manager: KingfisherManager) async -> ItemReport {
        var report = ItemReport(source: text, name: SourceArgument.name(text))
        do {
            let source = try await SourceArgument.source(text)
            report.key = source.cacheKey
            let result = try await manager.retrieveImage(with: source, options: settings.options)
            report.result = result
            report.output = try await destination.write(result, name: source.fileStem)
            if report.output == nil, result.cachedPath == nil, result.storing.diskError == nil {
                report.error = try await manager.cache.diskProblem()
            }
        } catch {
            report.error = error
        }
        return report
    }
}
