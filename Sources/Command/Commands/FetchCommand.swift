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
    private let sources: [SourceArgument.Operand]
    /// The terminal that `--show` draws on; nil without it.
    private let screen: Screen?
    private let tags: TagWriter?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        let show = try arguments[Options.show]
        let isOffline = try arguments[Options.offline]
        common = try CommonSettings(
            arguments, allowsNoCache: show || isOffline ? true : try Destination.isOutside(arguments))
        settings = try RetrievalSettings(arguments)
        tags = try TagWriter(arguments)
        guard !arguments.operands.isEmpty else {
            throw UsageError(message: "'kf fetch' needs a source: a URL, a file, a data: URI, or - for standard input")
        }
        sources = SourceArgument.expand(arguments.operands)
        let results = sources.count * settings.variants.count
        destination = try Destination(arguments, results: results, forms: settings.forms, json: common.json)
        if let column = destination.exporter?.columns.first {
            throw UsageError(message: "--name: {\(column)} is a column of a list, and 'kf fetch' reads none")
        }
        destination.exporter?.protect(sources.map(\.text))
        try settings.checkKey(sources.map(\.text))
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
        var (progress, signals): (ProgressBar?, Interrupts?) = (nil, nil)
        if next < sources.count, !Terminal.isClosed {
            let first = next
            let count = sources.count
            let bar = ProgressBar(
                count > 1 ? settings.run.progress : settings.run.progressOfOne,
                uploads: { manager.cache.uploadProgress }, expected: { count })
            bar.update { figures in
                figures.cached = first
                figures.outlook.waiting = count - first
                figures.size = count > 1 ? nil : 0
            }
            let stop = FetchStop(manager)
            // Whatever holds the run up, it ends within a second: a partial download is kept for the next run.
            let interrupts = Interrupts(
                patience: .milliseconds(900),
                first: { _ in stop.cancel() },
                second: {
                    bar.end()
                    manager.cache.discardTemporaries()
                })
            let left = settings.run.deadline.map { max(.zero, $0 - start.duration(to: .now)) }
            let limit = RunDeadline(left, grace: settings.options.request.timeout)
            status.raise(to: Blocking.wait { await fetch(from: first, manager, stop, limit, bar) })
            // The stale images have been delivered. They are revalidated for the next run.
            if manager.isRevalidating, interrupts.status == nil {
                let limit = settings.options.request.timeout
                Blocking.wait { await manager.finishRevalidating(within: limit) }
            }
            (progress, signals) = (bar, interrupts)
        }
        if let tags { status.raise(to: tags.flush(to: manager.cache, common)) }
        // Uploads may take long: they are shown, and a signal ends them.
        progress?.update { $0.isOver = true }
        manager.shutdownNow()
        progress?.end()
        if let interrupted = signals?.status { status.raise(to: interrupted) }
        status.raise(to: settings.conclude(manager.cache, common))
        if common.json {
            printSummary(status, manager.cache.remoteCounts)
        } else if common.verbose, let remote = manager.cache.remoteCounts {
            Terminal.printError("kf: remote: \(remote.summary)")
        }
        return status
    }

    private func print(_ report: ItemReport) -> ExitStatus {
        if let tags, let result = report.result { tags.note(result) }
        return report.print(common, on: screen)
    }

    private func printSummary(_ status: ExitStatus, _ remote: RemoteCounts?) {
        Terminal.print(JSONObject(summary: (sources.count, remote), Self.summary, status: status).json)
    }

    static let summary: [JSONField<(sources: Int, remote: RemoteCounts?)>] = [
        JSONField("sources", "The number of sources.") { $0.sources }, RemoteCounts.field { $0.remote },
    ]

    /// The reports of a source whose images are all cached; nil when one is not.
    private func cached(_ index: Int, _ manager: KingfisherManager) -> [ItemReport]? {
        let text = sources[index].text
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
            let claim = claim(source, index)
            for (form, result) in results.enumerated() {
                var report = ItemReport(
                    source: text, name: SourceArgument.name(text), variant: settings.variants[form].name)
                report.key = source.cacheKey(for: settings.options.request)
                report.result = result
                report.place(try destination.write(result, form: form, claim))
                reports.append(report)
            }
        } catch {
            var report = ItemReport(source: text, name: SourceArgument.name(text))
            report.error = error
            reports.append(report)
        }
        return reports
    }

    /// Claims the names of a source's copies.
    private func claim(_ source: Source, _ index: Int) -> ImageExporter.Claim? {
        destination.claim(
            source, identity: source.cacheKey(for: settings.options.request), number: index + 1,
            root: sources[index].root)
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
            var cancelled = 0
            while !Terminal.isClosed {
                while next < sources.count, next - printed < window, !stop.isStopped {
                    let index = next
                    // The sources claim their names in their order, however long each takes.
                    let source = source(index)
                    var claim: ImageExporter.Claim?
                    switch source {
                    case .success(let source)?: claim = self.claim(source, index)
                    // The name of standard input is known before its bytes.
                    case nil: claim = self.claim(.provider(RawImageDataProvider(data: [], cacheKey: "-")), index)
                    case .failure?: break
                    }
                    group.addTask { .ended(index, await fetch(index, source, claim, manager, bar)) }
                    next += 1
                }
                guard printed < next, let step = await group.next() else { break }
                switch step {
                case .ended(let index, let reports):
                    waiting[index] = reports
                    if reports.contains(where: { $0.error?.isCancellation == true }) { cancelled += 1 }
                    // Results are printed in the order of the sources.
                    while let reports = waiting.removeValue(forKey: printed) {
                        for report in reports { status.raise(to: print(report)) }
                        printed += 1
                    }
                    bar.update { figures in
                        let hasFailed = reports.contains { $0.error != nil }
                        figures.failed += hasFailed ? 1 : 0
                        figures.completed += hasFailed ? 0 : 1
                        figures.outlook.waiting -= 1
                        guard figures.size == nil else { return }
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
            if !Terminal.isClosed { reportNotTried(from: next, cancelled: cancelled) }
        }
        return status
    }

    /// Reports the sources that a signal or the deadline kept from being tried, and how many it cut off.
    private func reportNotTried(from next: Int, cancelled: Int) {
        for text in sources[next...].map(\.text) where common.json {
            var report = ItemReport(source: text, name: SourceArgument.name(text))
            report.isNotTried = true
            Terminal.print(report.json)
        }
        let left = cancelled + sources.count - next
        guard left > 0, sources.count > 1, !common.quiet else { return }
        Terminal.printError("kf: \(left) of \(sources.count) sources cancelled or not tried")
    }

    /// The source of an operand, or its error; nil for standard input, which takes time to read.
    private func source(_ index: Int) -> Result<Source, KingfisherError>? {
        let text = sources[index].text
        guard text != SourceArgument.standardInput else { return nil }
        return Result { () throws(KingfisherError) in try SourceArgument.source(text, key: settings.key) }
    }

    private func fetch(
        _ index: Int, _ known: Result<Source, KingfisherError>?, _ claim: ImageExporter.Claim?,
        _ manager: KingfisherManager, _ bar: ProgressBar
    ) async -> [ItemReport] {
        let text = sources[index].text
        let attempts = AttemptCount()
        do {
            let source: Source
            if let known {
                source = try known.get()
            } else {
                source = .provider(try await StandardInput.read(cacheKey: settings.key))
            }
            let results = await retrieve(source, manager, attempts, bar)
            var reports: [ItemReport] = []
            for (form, result) in results.enumerated() {
                var report = ItemReport(
                    source: text, name: SourceArgument.name(text), variant: settings.variants[form].name)
                report.key = source.cacheKey(for: settings.options.request)
                report.attempts = attempts.count
                await finish(&report, result, form: form, claim, manager)
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
        _ source: Source, _ manager: KingfisherManager, _ attempts: AttemptCount, _ bar: ProgressBar
    ) async -> [Result<RetrieveImageResult, KingfisherError>] {
        var forms = settings.variants.map(\.options)
        if sources.count == 1, settings.run.progressOfOne != .none {
            forms[0].progress = { received, total in
                bar.update { figures in
                    figures.bytes = received
                    figures.size = total ?? 0
                }
            }
        }
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
        _ report: inout ItemReport, _ outcome: Result<RetrieveImageResult, KingfisherError>, form: Int,
        _ claim: ImageExporter.Claim?, _ manager: KingfisherManager
    ) async {
        do {
            let result = try outcome.get()
            report.result = result
            if let place = try await Self.write(result, destination, form: form, claim) {
                report.place(place)
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
        _ result: RetrieveImageResult, _ destination: Destination, form: Int, _ claim: ImageExporter.Claim?
    ) async throws(KingfisherError) -> Destination.Place? {
        if case .cache = destination { return nil }
        return try await ImageExporter.blocking { () throws(KingfisherError) in
            try destination.write(result, form: form, claim)
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

    /// Ends the running downloads too.
    func cancel() {
        stopped.store(true, ordering: .relaxed)
        manager.downloader.drain()
        manager.downloader.cancelAll()
        manager.cache.endWaiting(within: .zero)
    }
}
