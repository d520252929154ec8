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
        let results = sources.count * settings.variants.count
        destination = try Destination(arguments, results: results, json: common.json)
        if case .cache = destination, settings.options.diskCacheExpiration == .expired {
            throw UsageError(
                message: "with --expire expired nothing is stored; say where to write with -o or --output-dir")
        }
    }

    func run() -> ExitStatus {
        let manager = settings.manager(common)
        var status = ExitStatus.success
        var next = 0
        // What the cache has needs neither threads nor the network: most runs end here.
        while next < sources.count, !Terminal.isClosed, let reports = cached(sources[next], manager) {
            for report in reports { status.raise(to: report.print(common)) }
            next += 1
        }
        if next < sources.count, !Terminal.isClosed {
            let first = next
            let interrupts = Interrupts(
                first: manager.downloader.drain, second: { manager.cache.discardTemporaries() })
            status.raise(to: Blocking.wait { await fetch(from: first, manager) })
            if let interrupted = interrupts.status { status.raise(to: interrupted) }
        }
        manager.shutdownNow()
        if common.json { printSummary(status) }
        return status
    }

    private func printSummary(_ status: ExitStatus) {
        var object = JSONObject()
        object.add("schema", 1)
        object.add("summary", true)
        object.add("sources", sources.count)
        object.add("exit_status", status.rawValue)
        Terminal.print(object.line)
    }

    /// Nil when not all of it is in the cache.
    private func cached(_ text: String, _ manager: KingfisherManager) -> [ItemReport]? {
        guard text != SourceArgument.standardInput else { return nil }
        var reports: [ItemReport] = []
        do {
            let source = try SourceArgument.source(text)
            var results: [RetrieveImageResult] = []
            for variant in settings.variants {
                guard let result = try manager.retrieveCachedImage(with: source, options: variant.options) else {
                    return nil
                }
                results.append(result)
            }
            for (variant, result) in zip(settings.variants, results) {
                var report = ItemReport(source: text, name: SourceArgument.name(text), variant: variant.name)
                report.key = source.cacheKey(for: settings.options.request)
                report.result = result
                if let target = try destination.target(for: result, stem: source.fileStem, variant: variant.name) {
                    try result.writeNow(to: target)
                    report.output = target.name
                }
                reports.append(report)
            }
        } catch {
            var report = ItemReport(source: text, name: SourceArgument.name(text))
            report.error = error
            reports.append(report)
        }
        return reports
    }

    private func fetch(from first: Int, _ manager: KingfisherManager) async -> ExitStatus {
        var status = ExitStatus.success
        await withTaskGroup(of: (Int, [ItemReport]).self) { group in
            var next = first
            var waiting: [Int: [ItemReport]] = [:]
            var printed = first
            while printed < sources.count, !Terminal.isClosed {
                while next < sources.count, next - printed < settings.jobs * 2 {
                    let index = next
                    group.addTask { (index, await fetch(sources[index], manager)) }
                    next += 1
                }
                guard let (index, reports) = await group.next() else { break }
                waiting[index] = reports
                // Results come in the order of the sources, whichever is ready first.
                while let reports = waiting.removeValue(forKey: printed) {
                    for report in reports { status.raise(to: report.print(common)) }
                    printed += 1
                }
            }
            group.cancelAll()
        }
        return status
    }

    private func fetch(_ text: String, _ manager: KingfisherManager) async -> [ItemReport] {
        do {
            let source: Source =
                text == SourceArgument.standardInput
                ? .provider(try await StandardInput.read()) : try SourceArgument.source(text)
            let results = await retrieve(source, manager)
            var reports: [ItemReport] = []
            for (variant, result) in zip(settings.variants, results) {
                var report = ItemReport(source: text, name: SourceArgument.name(text), variant: variant.name)
                report.key = source.cacheKey(for: settings.options.request)
                await finish(&report, result, source, manager)
                reports.append(report)
            }
            return reports
        } catch {
            var report = ItemReport(source: text, name: SourceArgument.name(text))
            report.error = error
            return [report]
        }
    }

    private func retrieve(
        _ source: Source, _ manager: KingfisherManager
    ) async -> [Result<RetrieveImageResult, KingfisherError>] {
        if settings.variants.count > 1 {
            return await manager.retrieveVariants(of: source, options: settings.variants.map(\.options))
        }
        do {
            return [.success(try await manager.retrieveImage(with: source, options: settings.variants[0].options))]
        } catch {
            return [.failure(error)]
        }
    }

    private func finish(
        _ report: inout ItemReport, _ outcome: Result<RetrieveImageResult, KingfisherError>, _ source: Source,
        _ manager: KingfisherManager
    ) async {
        do {
            let result = try outcome.get()
            report.result = result
            if let target = try destination.target(
                for: result, stem: source.fileStem, variant: report.variant)
            {
                try await result.write(to: target)
                report.output = target.name
            } else if result.cachedPath == nil, result.storing.diskError == nil {
                // Nothing is kept and nothing was written: the image was fetched for nobody.
                report.error = try await manager.cache.diskProblem()
                report.hint = "write it elsewhere with -o"
            }
        } catch {
            report.error = error
        }
    }
}
