import Dispatch
import KFCore
import Synchronization

/// `kf fetch`: prints the paths of images, or writes them to files or standard output.
///
/// The sources from the first one on that is not cached are the input of an `ImagePrefetcher`, which is for the images
/// and not for the cache. Its results are printed in the order of the sources.
struct FetchCommand: Sendable {
    private let common: CommonSettings
    fileprivate private(set) var settings: RetrievalSettings
    fileprivate let destination: Destination
    private let sources: [SourceArgument.Operand]
    private let tags: TagWriter?
    private let srcset: SrcsetFile?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        let (file, directory) = try Destination.places(arguments)
        common = try CommonSettings(
            arguments, allowsNoCache: try arguments[Options.offline] || file != nil || directory != nil)
        settings = try RetrievalSettings(arguments)
        tags = try TagWriter(arguments)
        guard !arguments.operands.isEmpty else {
            throw UsageError(message: "'kf fetch' needs a source: a URL, a file, a data: URI, or - for standard input")
        }
        sources = SourceArgument.expand(arguments.operands, without: directory)
        if try arguments[Options.pruneLock], !sources.contains(where: \.isURL) {
            throw UsageError(message: "--prune-lock needs a URL: no other source has a line in the lock")
        }
        let results = sources.count * settings.variants.count
        destination = try Destination(arguments, settings, results: results, json: common.json)
        if let column = destination.exporter?.columns.first {
            throw UsageError(message: "--name: {\(column)} is a column of a list, and 'kf fetch' reads none")
        }
        try settings.protectFiles(of: arguments, sources.map(\.text), common, from: destination.exporter)
        try settings.checkKey(sources.map(\.text))
        if settings.options.expectedHash != nil, sources.count > 1 {
            throw UsageError(message: "--hash works with one source, not with \(sources.count)")
        }
        try settings.checkOnFailure(destination)
        if case .cache = destination, let notStored = settings.notStored {
            throw UsageError(message: "\(notStored); write the image with -o or --output-dir")
        }
        srcset = try SrcsetFile(arguments)
    }

    func run() -> ExitStatus {
        let waits = WaitReport(common)
        let manager = settings.manager(common, waits)
        guard settings.lacksOverlays || settings.onFailure != nil else { return run(manager, waits, nil, []) }
        let interrupts = Interrupts(patience: Self.patience, preparing: manager)
        // A stand-in that cannot be had ends the run before anything is written.
        guard let prepared = settings.prepared(manager, interrupts, common) else { return .usage }
        var command = self
        command.settings = prepared.settings
        return command.run(manager, waits, interrupts, prepared.standIns)
    }

    /// The time in which a run ends after a signal, whatever holds it up: a partial download is kept for the next run.
    private static let patience = DispatchTimeInterval.milliseconds(900)

    private func run(
        _ manager: KingfisherManager, _ waits: WaitReport, _ prepared: Interrupts?, _ standIns: [RetrieveImageResult]
    ) -> ExitStatus {
        var status = ExitStatus.success
        var counts = PrefetchProgress()
        var next = 0
        // Cached images need neither threads nor the network. Most runs end after this loop.
        while next < sources.count, !Terminal.isClosed, let (ending, key) = cached(next, manager) {
            counts.add(ending, ending.error)
            var row = row(sources[next].text)
            row.key = key
            status.raise(to: print(settings.rows(ending, row)))
            next += 1
        }
        var (progress, signals): (ProgressBar?, Interrupts?) = (nil, prepared)
        if next < sources.count, !Terminal.isClosed {
            let first = next
            let count = sources.count
            // One image shows its progress on a terminal, if it takes long.
            let bar = ProgressBar(
                count > 1 || settings.progress == .bar ? settings.progress : .none, waits,
                delay: count > 1 || settings.isProgressForced ? nil : .seconds(1),
                uploads: { manager.cache.uploadProgress }, expected: { count })
            bar.update { figures in
                figures.progress.skipped = first
                figures.progress.outlook.waiting = count - first
                figures.size = count > 1 ? nil : 0
            }
            let interrupts = prepared ?? Interrupts(patience: Self.patience, preparing: manager)
            let prefetcher = prefetcher(manager, bar, FetchExporter(self, manager.cache, standIns))
            interrupts.handle(
                first: { _ in
                    prefetcher.finishEarly()
                    manager.downloader.cancelAll()
                    manager.cache.endWaiting(within: .zero)
                },
                second: {
                    bar.end()
                    manager.cache.discardTemporaries()
                })
            let cached = counts
            let fetched = Blocking.wait { await fetch(from: first, prefetcher, bar, cached) }
            status.raise(to: fetched.status)
            counts = fetched.counts
            (progress, signals) = (bar, interrupts)
        } else if next < sources.count {
            status.raise(to: closed())
        }
        status.raise(to: settings.close(manager, progress, tags, common, isCut: signals?.status != nil))
        if let interrupted = signals?.status { status.raise(to: interrupted) }
        status.raise(to: settings.conclude(manager.cache, common))
        // The message of the copy has the reason.
        let hasRoom = destination.exporter?.problem == nil
        if !hasRoom { status.raise(to: .cacheFailed) }
        let isWhole = status != .stoppedEarly && signals?.status == nil && hasRoom
        if let srcset { status.raise(to: srcset.finish(common, isWhole: isWhole)) }
        status.raise(to: settings.finishLock(common, hadItems: true, isWhole: isWhole))
        settings.forgive(&status)
        if common.json {
            Terminal.print(
                JSONObject(
                    summary: (sources.count, counts, manager.cache, settings.lock), Self.summary, status: status
                ).json)
        } else {
            if sources.count > 1, !common.quiet {
                let leftOut = EntryText.counts((counts.filtered, "filtered"), (counts.optedOut, "opted out"))
                if !leftOut.isEmpty {
                    Terminal.printError("kf: \(sources.count) sources: \(leftOut.joined(separator: ", "))")
                }
            }
            if common.verbose, let remote = manager.cache.remoteCounts {
                Terminal.printError("kf: remote: \(remote.summary)")
            }
        }
        return status
    }

    /// Prints the rows of a source, and returns the worst status.
    private func print(_ reports: [ItemReport]) -> ExitStatus {
        var status = ExitStatus.success
        func print(_ report: ItemReport, as subject: String?) {
            if let tags, let result = report.result { tags.note(result) }
            status.raise(to: report.print(common, as: subject))
        }
        if reports.count == 1 {
            print(reports[0], as: "")
        } else {
            for (report, subject) in zip(reports, ItemReport.subjects(of: reports)) { print(report, as: subject) }
        }
        if let srcset, let markup = srcset.text(reports) { srcset.append(markup) }
        return status
    }

    typealias Summary = (sources: Int, counts: PrefetchProgress, cache: ImageCache, lock: LockedRun?)

    static let summary = figures + RetrievalSettings.summary.map { $0.of { ($0.cache, $0.lock) } }

    private static let figures: [JSONField<Summary>] = [
        JSONField("sources", "The number of sources.") { $0.sources },
        JSONField("written", "The numbers of files that were written, and that had the same bytes already.") {
            $0.counts.written
        },
        JSONField("unchanged", nil) { $0.counts.unchanged },
        JSONField("filtered", "The numbers of sources that a filter refused, and whose servers opted out.") {
            $0.counts.filtered
        },
        JSONField("opted_out", nil) { $0.counts.optedOut },
    ]

    /// The ending of a source whose images are all cached, or that fails before it is asked, and its key; nil for any
    /// other.
    private func cached(
        _ index: Int, _ manager: KingfisherManager
    ) -> (ending: PrefetchOutcome.Ending, key: String)? {
        guard sources[index].text != SourceArgument.standardInput else { return nil }
        let source: Source
        // The prefetcher reports what is not a source.
        do throws(KingfisherError) { source = try sources[index].source(key: settings.key) } catch { return nil }
        let key = source.cacheKey(for: settings.options.request)
        do throws(KingfisherError) {
            let pin = try settings.lock?.pin(of: source)
            var results: [PrefetchResult] = []
            for options in settings.retrieved {
                guard let result = try manager.retrieveCachedImage(with: source, options: options, pin: pin) else {
                    return nil
                }
                results.append(PrefetchResult(.success(result)))
            }
            if case .success(let first)? = results.first?.image, let error = settings.lock?.note(first) { throw error }
            let claim = claim(source, index)
            let copied = results.exported(isForgiven: true) { image, form throws(KingfisherError) in
                try write(image, form, claim, manager.cache)
            }
            return (.retrieved(copied), key)
        } catch {
            return (.failed(error), key)
        }
    }

    private func row(_ text: String) -> ItemReport { ItemReport(source: text, name: SourceArgument.name(text)) }

    /// Writes an image where the options say. Behind the images are their descriptions, which are not written.
    fileprivate func write(
        _ image: RetrieveImageResult, _ form: Int, _ claim: ImageExporter.Claim?, _ cache: ImageCache
    ) throws(KingfisherError) -> ImageExporter.Copy? {
        guard form < settings.variants.count else { return nil }
        let copy = try destination.write(image, form: form, claim)
        if copy == nil, image.isOfNoUse, let problem = try cache.diskProblemNow() { throw problem }
        return copy
    }

    fileprivate func claim(_ source: Source, _ index: Int) -> ImageExporter.Claim? {
        destination.exporter?.claim(
            source, identity: source.cacheKey(for: settings.options.request),
            ImageExporter.Item(number: index + 1, root: sources[index].root))
    }

    private func prefetcher(
        _ manager: KingfisherManager, _ bar: ProgressBar, _ exporter: FetchExporter
    ) -> ImagePrefetcher {
        var configuration = settings.prefetching
        // The results of items that have ended wait for those before them with open files.
        configuration.maxItemsAhead = DescriptorLimit.bound(settings.jobs * 2)
        configuration.fillsCache = false
        configuration.exporter = exporter
        var forms = settings.retrieved
        if sources.count == 1, settings.progress == .bar {
            forms[0].progress = { received, total in
                bar.update { ($0.received, $0.size) = (received, total ?? 0) }
            }
        }
        return ImagePrefetcher(manager: manager, forms: forms, configuration: configuration)
    }

    /// Fetches the sources behind the cached ones. `counts` are those of the cached ones.
    private func fetch(
        from first: Int, _ prefetcher: ImagePrefetcher, _ bar: ProgressBar, _ counts: PrefetchProgress
    ) async -> (status: ExitStatus, counts: PrefetchProgress) {
        var (status, counts) = (ExitStatus.success, counts)
        var waiting: [Int: PrefetchOutcome] = [:]
        var next = first + 1
        let numbers = next..<sources.count + 1
        let operands = PrefetchSources(numbers, block: settings.jobs / 4) { operand(sources[$0 - 1]) }
        bar.update { ($0.tally, $0.imagesPerItem) = (prefetcher.tally, prefetcher.imagesPerItem) }
        let report = await prefetcher.prefetch(operands) { event in
            guard case .ended(let outcome, let progress) = event else { return }
            waiting[outcome.item.number] = outcome
            while !Terminal.isClosed, let outcome = waiting.removeValue(forKey: next) {
                counts.add(outcome.ending, outcome.error)
                status.raise(to: print(reports(outcome)))
                next += 1
            }
            bar.update { figures in
                figures.progress = progress
                figures.progress.skipped += first
                figures.progress.outlook.waiting = numbers.count - progress.finished
            }
            if Terminal.isClosed { prefetcher.stop() }
        }
        if Terminal.isClosed { return (next <= sources.count ? closed() : status, counts) }
        if report.ending == .deadline {
            Terminal.printError(RetrievalSettings.deadlineMessage)
            status.raise(to: .stoppedEarly)
        }
        let left = report.progress.cancelled + report.progress.notTried
        if left > 0, sources.count > 1, !common.quiet {
            Terminal.printError("kf: \(left) of \(sources.count) sources cancelled or not tried")
        }
        return (status, counts)
    }

    /// The end of a run whose standard output was closed: quiet, unless it leaves out files that it was to write.
    private func closed() -> ExitStatus {
        guard destination.exporter != nil else { return .success }
        Terminal.printError(RetrievalSettings.closedMessage)
        return .stoppedEarly
    }

    private func operand(_ given: SourceArgument.Operand) -> PrefetchSources.Operand {
        let text = given.text
        guard text == SourceArgument.standardInput else {
            return (text, Result { () throws(KingfisherError) in try given.source(key: settings.key) }, nil)
        }
        let read: PrefetchSources.Reader = {
            do throws(KingfisherError) {
                return .success(.provider(try await StandardInput.read(cacheKey: settings.key)))
            } catch {
                return .failure(error)
            }
        }
        // The name of its copy is known before its bytes.
        return (text, .success(.provider(RawImageDataProvider(data: [], cacheKey: "-"))), read)
    }

    private func reports(_ outcome: PrefetchOutcome) -> [ItemReport] {
        let text = outcome.item.text
        var reports = settings.rows(outcome, row(text))
        for index in reports.indices where reports[index].error != nil {
            if let image = reports[index].result, image.isOfNoUse { reports[index].hint = "write it elsewhere with -o" }
            if text == SourceArgument.standardInput, reports[index].error?.reasonName == "notAnImage" {
                reports[index].hint = "for a list of URLs: kf prefetch -"
            }
        }
        return reports
    }
}

private final class FetchExporter: PrefetchExporter {
    private let command: FetchCommand
    private let cache: ImageCache
    private let standIns: [RetrieveImageResult]

    init(_ command: FetchCommand, _ cache: ImageCache, _ standIns: [RetrieveImageResult]) {
        self.command = command
        self.standIns = standIns
        self.cache = cache
    }

    var maxItemsAhead: Int? { nil }
    var problem: KingfisherError? { command.destination.exporter?.problem }

    func prepare(forms: [KingfisherOptions]) {}

    func visit(_ item: inout PrefetchItem, identity: String) {
        if case .success(let source) = item.source { item.claim = command.claim(source, item.number - 1) }
    }

    func export(_ outcome: PrefetchOutcome) -> PrefetchOutcome {
        // The image is reported, stored or not.
        outcome.exported(isForgiven: true, standIns: standIns) { image, form throws(KingfisherError) in
            try command.write(image, form, outcome.item.claim, cache)
        }
    }

    func finish(isWhole: Bool) {}
}
