import KFCore
import Synchronization

/// `kf fetch`: prints the paths of images, or writes them to files or standard output.
///
/// `prefetch` skips what is cached, stops when the cache fails, and takes results in any order. `fetch` opens what is
/// cached, delivers without a cache, and keeps the order. The two share `DescriptorLimit`, `RunDeadline` and the draining of the
/// downloader, not the loop.
struct FetchCommand: Sendable {
    private let common: CommonSettings
    private let settings: RetrievalSettings
    private let destination: Destination
    private let sources: [String]
    /// The terminal that `--show` draws on; nil without it.
    private let screen: Screen?
    private let tags: TagWriter?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        settings = try RetrievalSettings(arguments)
        tags = try TagWriter(arguments)
        sources = arguments.operands
        guard !sources.isEmpty else {
            throw UsageError(message: "'kf fetch' needs a source: a URL, a file, a data: URI, or - for standard input")
        }
        let results = sources.count * settings.variants.count
        destination = try Destination(arguments, results: results, variants: settings.variants, json: common.json)
        try settings.checkKey(sources)
        let show = try arguments[Options.show]
        screen = show ? Screen(arguments.environment) : nil
        if show {
            guard screen != nil else {
                throw UsageError(message: "--show draws in a terminal, and standard output is not one")
            }
            if case .standardOutput = destination {
                throw UsageError(message: "--show and -o - both write to standard output")
            }
        }
        if case .cache = destination, let notStored = settings.notStored, screen == nil {
            throw UsageError(message: "\(notStored); write the image with -o or --output-dir")
        }
    }

    func run() -> ExitStatus {
        let start = ContinuousClock.now
        let manager = settings.manager(common)
        var status = ExitStatus.success
        var next = 0
        // Cached images need neither threads nor the network. Most runs end after this loop.
        while next < sources.count, !Terminal.isClosed, let reports = cached(next, manager) {
            for report in reports { status.raise(to: print(report)) }
            next += 1
        }
        if next < sources.count, !Terminal.isClosed {
            let first = next
            let count = sources.count
            let bar = ProgressBar(count > 1 ? settings.run.progress : .none) { count }
            bar.update { $0.skipped = first }
            let stop = FetchStop(manager)
            let interrupts = Interrupts(
                first: { stop.stop() },
                second: {
                    bar.end()
                    manager.cache.discardTemporaries()
                })
            let left = settings.run.deadline.map { max(.zero, $0 - start.duration(to: .now)) }
            let limit = RunDeadline(left, grace: settings.options.request.timeout)
            status.raise(to: Blocking.wait { await fetch(from: first, manager, stop, limit, bar) })
            // The stale images have been delivered. They are revalidated for the next run.
            if manager.isRevalidating {
                let limit = settings.options.request.timeout
                Blocking.wait { await manager.finishRevalidating(within: limit) }
            }
            bar.end()
            if let interrupted = interrupts.status { status.raise(to: interrupted) }
        }
        if let tags { status.raise(to: tags.flush(to: manager.cache, common)) }
        manager.shutdownNow()
        if common.json { printSummary(status) }
        return status
    }

    private func print(_ report: ItemReport) -> ExitStatus {
        if let tags, let result = report.result { tags.note(result) }
        return report.print(common, on: screen)
    }

    private func printSummary(_ status: ExitStatus) {
        Terminal.print(JSONObject(summary: sources.count, Self.summary, status: status).json)
    }

    static let summary = [JSONField<Int>("sources", "The number of sources.") { $0 }]

    /// The reports of a source whose images are all cached; nil when one is not.
    private func cached(_ index: Int, _ manager: KingfisherManager) -> [ItemReport]? {
        let text = sources[index]
        guard text != SourceArgument.standardInput else { return nil }
        var reports: [ItemReport] = []
        do {
            let source = try SourceArgument.source(text, key: settings.key)
            var results: [RetrieveImageResult] = []
            for variant in settings.variants {
                guard let result = try manager.retrieveCachedImage(with: source, options: variant.options) else {
                    return nil
                }
                results.append(result)
            }
            for (form, result) in results.enumerated() {
                var report = ItemReport(
                    source: text, name: SourceArgument.name(text), variant: settings.variants[form].name)
                report.key = source.cacheKey(for: settings.options.request)
                report.result = result
                report.output = try destination.write(result, form: form, number: index + 1)
                reports.append(report)
            }
        } catch {
            var report = ItemReport(source: text, name: SourceArgument.name(text))
            report.error = error
            reports.append(report)
        }
        return reports
    }

    private enum Step: Sendable {
        case ended(Int, [ItemReport])
        case reached(RunDeadline.Phase?)
    }

    private func fetch(
        from first: Int, _ manager: KingfisherManager, _ stop: FetchStop, _ limit: RunDeadline, _ bar: ProgressBar
    ) async -> ExitStatus {
        var status = ExitStatus.success
        await withTaskGroup(of: Step.self) { group in
            group.addTask { .reached(await limit.next()) }
            var next = first
            let window = DescriptorLimit.bound(settings.jobs * 2)
            var waiting: [Int: [ItemReport]] = [:]
            var printed = first
            while !Terminal.isClosed {
                while next < sources.count, next - printed < window, !stop.isStopped {
                    let index = next
                    group.addTask { .ended(index, await fetch(index, manager)) }
                    next += 1
                }
                guard printed < next, let step = await group.next() else { break }
                switch step {
                case .ended(let index, let reports):
                    waiting[index] = reports
                    // Results are printed in the order of the sources.
                    while let reports = waiting.removeValue(forKey: printed) {
                        for report in reports { status.raise(to: print(report)) }
                        printed += 1
                    }
                    bar.update { figures in
                        let hasFailed = reports.contains { $0.error != nil }
                        figures.failed += hasFailed ? 1 : 0
                        figures.completed += hasFailed ? 0 : 1
                        figures.bytes += reports.reduce(0) { $0 + ($1.result?.response?.metrics.receivedBytes ?? 0) }
                    }
                case .reached(.deadline):
                    stop.stop()
                    Terminal.printError(RunSettings.deadlineMessage)
                    status.raise(to: .stoppedEarly)
                    group.addTask { .reached(await limit.next(after: .deadline)) }
                case .reached(.cutOff):
                    group.cancelAll()
                    manager.cache.endWaiting(within: .zero)
                case .reached(nil): break
                }
            }
            group.cancelAll()
        }
        return status
    }

    private func fetch(_ index: Int, _ manager: KingfisherManager) async -> [ItemReport] {
        let text = sources[index]
        let attempts = AttemptCount()
        do {
            let source: Source =
                text == SourceArgument.standardInput
                ? .provider(try await StandardInput.read(cacheKey: settings.key))
                : try SourceArgument.source(text, key: settings.key)
            let results = await retrieve(source, manager, attempts)
            var reports: [ItemReport] = []
            for (form, result) in results.enumerated() {
                var report = ItemReport(
                    source: text, name: SourceArgument.name(text), variant: settings.variants[form].name)
                report.key = source.cacheKey(for: settings.options.request)
                report.attempts = attempts.count
                await finish(&report, result, form: form, number: index + 1, manager)
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
        _ source: Source, _ manager: KingfisherManager, _ attempts: AttemptCount
    ) async -> [Result<RetrieveImageResult, KingfisherError>] {
        let forms = settings.variants.map(\.options)
        if forms.count > 1 {
            return await manager.retrieveVariants(of: source, options: forms, counting: attempts)
        }
        do {
            return [.success(try await manager.retrieveImage(with: source, options: forms[0], counting: attempts))]
        } catch {
            return [.failure(error)]
        }
    }

    private func finish(
        _ report: inout ItemReport, _ outcome: Result<RetrieveImageResult, KingfisherError>, form: Int, number: Int,
        _ manager: KingfisherManager
    ) async {
        do {
            let result = try outcome.get()
            report.result = result
            if let output = try await Self.write(result, destination, form: form, number: number) {
                report.output = output
            } else if result.cachedPath == nil, result.storing.diskError == nil {
                // The image was neither stored nor written, so that its fetch was of no use.
                report.error = try await manager.cache.diskProblem()
                report.hint = "write it elsewhere with -o"
            }
        } catch {
            report.error = error
        }
    }

    private static func write(
        _ result: RetrieveImageResult, _ destination: Destination, form: Int, number: Int
    ) async throws(KingfisherError) -> String? {
        if case .cache = destination { return nil }
        return try await ImageExporter.blocking { () throws(KingfisherError) in
            try destination.write(result, form: form, number: number)
        }
    }
}

/// Tells a fetch to start nothing new. Downloads that are running go on.
private final class FetchStop: Sendable {
    private let manager: KingfisherManager
    private let stopped = Atomic(false)

    init(_ manager: KingfisherManager) { self.manager = manager }

    var isStopped: Bool { stopped.load(ordering: .relaxed) }

    func stop() {
        stopped.store(true, ordering: .relaxed)
        manager.downloader.drain()
        manager.cache.endWaiting(within: RunSettings.patienceAfterSignal)
    }
}
