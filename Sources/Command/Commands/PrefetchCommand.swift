import Glibc
import KFCore
import KFSystem
import Synchronization

struct PrefetchCommand: Sendable {
    let common: CommonSettings
    private var settings: RetrievalSettings
    private var options: ListOptions
    private let maxFailures: FailureLimit?
    private let isDryRun: Bool
    /// Whether a dry run fails when an image is missing.
    private let checks: Bool
    private let destination: Destination
    private let paths: [String]
    private let output: PrefetchOutput
    private let tags: TagWriter?
    /// The column of the texts for `--srcset`.
    private let altColumn: String?
    private let printed: Options.Printed
    private let annotations: Annotations?

    /// `pulls`: the images come from remotes alone.
    init(_ arguments: ParsedArguments, pulls: Bool = false) throws(UsageError) {
        if pulls, try arguments[Options.remote].isEmpty {
            throw UsageError(message: "'kf cache pull' needs a --remote")
        }
        let offline = try arguments[Options.offline]
        isDryRun = try arguments[Options.prefetchDryRun]
        common = try CommonSettings(arguments, allowsNoCache: offline || isDryRun)
        settings = try RetrievalSettings(arguments, fillsCache: true, pulls: pulls)
        checks = arguments.isBare(Options.check)
        options = try ListOptions(arguments)
        maxFailures = try arguments[Options.maxFailures]
        guard !arguments.operands.isEmpty || !Terminal.isTerminal(0) else {
            throw UsageError(message: "'kf prefetch' needs a list: a file with one URL a line, or - for standard input")
        }
        destination = try Destination(arguments, settings, results: .max, json: common.json)
        if case .cache = destination, let notStored = settings.notStored {
            throw UsageError(message: "\(notStored), and without --output-dir or --shards prefetch only stores")
        }
        try settings.checkOnFailure(destination)
        options.needsSameColumns = try arguments[Options.results].map(ResultsFile.isDelimited) ?? false
        altColumn = try arguments[Options.altColumn]
        printed = try arguments[Options.printed]
        annotations = isDryRun ? nil : try Annotations(arguments)
        options.copyColumns = destination.columns + [altColumn].compactMap(\.self)
        paths = arguments.operands.isEmpty ? ["-"] : arguments.operands
        try settings.protectFiles(of: arguments, paths, common, from: destination.exporter)
        for path in paths where path.contains("://") || ImageFolder.isFolder(path) {
            let shown = RequestURL.redacted(path)
            throw UsageError(message: "'kf prefetch' reads lists; for a URL or a folder: kf fetch \(shown)")
        }
        // Before --results and --failures are created.
        let unreadable = PrefetchLists.unreadable(paths).map(\.message)
        guard unreadable.isEmpty else { throw UsageError(message: unreadable.joined(separator: "; ")) }
        output = try Self.output(arguments, paths, options.format)
        if try arguments[Options.pruneLock], options.shard != nil {
            throw UsageError(message: "--prune-lock needs the whole list, and --shard reads a part of it")
        }
        tags = isDryRun ? nil : try TagWriter(arguments)
    }

    private static func output(
        _ arguments: ParsedArguments, _ paths: [String], _ format: ListFormat?
    ) throws(UsageError) -> PrefetchOutput {
        let (results, failures) = (try arguments[Options.results], try arguments[Options.failures])
        if try arguments[Options.prefetchDryRun] {
            guard results == nil else { throw UsageError(message: "--dry-run has no --results; use --json") }
            guard try arguments[Options.srcset] == nil else { throw UsageError(message: "--dry-run has no --srcset") }
            return PrefetchOutput(failures: nil, results: nil, srcset: nil, isOrdered: false)
        }
        if failures != nil, format == nil, Set(paths.map { ListFormat(fileName: $0) }).count > 1 {
            throw UsageError(message: "--failures writes one list; lists of several formats need one run each")
        }
        let rows = try results.map { path throws(UsageError) in
            try ResultsFile(
                path, lists: paths, format, measures: try RetrievalSettings.measures(arguments))
        }
        let records = try failures.map { path throws(UsageError) in try FailureFile(path) }
        return PrefetchOutput(
            failures: records, results: rows, srcset: try SrcsetFile(arguments),
            isOrdered: try arguments[Options.ordered])
    }

    func run() -> ExitStatus {
        ProcessState.keepFreedMemory()
        let lists: PrefetchLists
        do {
            lists = try PrefetchLists(paths: paths, options: options)
        } catch {
            common.report(error, for: nil)
            return .someFailed
        }
        if isDryRun {
            let onlyStores = if case .cache = destination { true } else { false }
            return PrefetchDryRunCommand(
                common: common, settings: settings, checks: checks, exporter: destination.exporter,
                keepsResults: !onlyStores || !settings.isReadOnly, place: place
            ).run(lists)
        }
        let waits = WaitReport(common)
        let manager = settings.manager(common, waits)
        let interrupts = Interrupts(patience: settings.patience, preparing: manager)
        guard let prepared = settings.prepared(manager, interrupts, common) else { return .usage }
        destination.exporter?.write(onFailure: prepared.standIns)
        var command = self
        command.settings = prepared.settings
        return command.run(lists, manager, waits, interrupts)
    }

    private func run(
        _ lists: PrefetchLists, _ manager: KingfisherManager, _ waits: WaitReport, _ interrupts: Interrupts
    ) -> ExitStatus {
        let prefetcher = ImagePrefetcher(
            manager: manager, forms: settings.retrieved, configuration: configuration)
        let bar = ProgressBar(settings.progress, waits, uploads: { manager.cache.uploadProgress }) {
            lists.expectedItems
        }
        bar.update { ($0.tally, $0.imagesPerItem) = (prefetcher.tally, prefetcher.imagesPerItem) }
        interrupts.handle { number in
            if !common.quiet {
                let running = prefetcher.runningTransfers
                Terminal.printError(Interrupts.announcement(of: number, finishing: running, within: settings.grace))
            }
            prefetcher.finishEarly(lists)
            manager.cache.endWaiting(within: RetrievalSettings.patienceAfterSignal)
        } second: {
            // The run ends with what it has, so that its summary and its list of failures are complete.
            prefetcher.cutOff()
            manager.cache.endWaiting(within: .zero)
            sleep(Self.patienceAfterSecondSignal)
            bar.end()
            manager.cache.discardTemporaries()
        }
        do throws(KingfisherError) { try prefetcher.prepare() } catch {
            common.report(error, for: nil)
            _ = settings.close(manager, bar, nil, common, isCut: true)
            return .cacheFailed
        }
        let start = ContinuousClock.now
        var (report, status) = Blocking.wait { await prefetch(lists, prefetcher, manager.cache, bar) }
        let isWhole =
            report.ending == .finished && report.brokenLists + report.unreadLists + report.progress.notTried == 0
            && interrupts.status == nil
        let hadItems = report.progress.finished > 0 || report.brokenLists == 0
        status.raise(to: output.finish(common, hadItems: hadItems, isWhole: isWhole))
        status.raise(to: settings.close(manager, bar, tags, common, isCut: !isWhole))
        if !lists.absentMembers.isEmpty {
            let names = lists.absentMembers.map { "'\($0)'" }.joined(separator: ", ")
            common.warn("no object of the lists has the member \(names)")
        }
        status.raise(to: conclude(report))
        status.raise(to: settings.conclude(manager.cache, common, after: report.ending))
        if let interrupted = interrupts.status { status.raise(to: interrupted) }
        status.raise(to: settings.finishLock(common, hadItems: report.progress.finished > 0, isWhole: isWhole))
        settings.forgive(&status)
        let pruned = destination.exporter.flatMap { Self.prune($0, manager.cache, common, isWhole: isWhole, &status) }
        summarize((report, start.duration(to: .now), manager.cache, settings.lock, pruned), status)
        return status
    }

    /// Removes what the list no longer names, for `--prune-output`, and returns the paths; nil without it.
    static func prune(
        _ exporter: ImageExporter, _ cache: ImageCache, _ common: CommonSettings, isWhole: Bool, dryRun: Bool = false,
        _ status: inout ExitStatus
    ) -> [String]? {
        do throws(KingfisherError) {
            guard let pruning = try exporter.prune(in: cache, isWhole: isWhole, dryRun: dryRun) else { return nil }
            if let obstacle = pruning.obstacle { common.warn("--prune-output: nothing is removed: \(obstacle)") }
            return pruning.removed
        } catch {
            common.report(error, for: "--prune-output")
            status.raise(to: .cacheFailed)
            return nil
        }
    }

    /// The seconds that a run may take to end after the second signal.
    private static let patienceAfterSecondSignal: UInt32 = 2

    private var configuration: ImagePrefetcher.Configuration {
        var configuration = settings.prefetching
        configuration.maxFailures = maxFailures
        if case .shards(let directory, var shards) = destination {
            shards.rowMembers = settings.describedNames
            if shards.duplicates != nil {
                configuration.sieve = DuplicateSieve(names: shards.names, distance: settings.duplicateDistance)
            }
            configuration.exporter = ShardExporter(directory: directory, forms: settings.forms, configuration: shards) {
                outcome, _ in reports(outcome).map { ShardExporter.Row(line: $0.row, member: $0.member) }
            }
        } else {
            configuration.exporter = destination.exporter
        }
        configuration.maxItemsAhead = output.isOrdered ? PrefetchOutput.mostWaiting : nil
        return configuration
    }

    private func prefetch(
        _ lists: PrefetchLists, _ prefetcher: ImagePrefetcher, _ cache: ImageCache, _ bar: ProgressBar
    ) async -> (PrefetchReport, ExitStatus) {
        var worst = ExitStatus.success
        let report = await prefetcher.prefetch(lists) { event in
            switch event {
            case .ended(let outcome, let progress):
                worst.raise(to: self.report(outcome))
                if let tags {
                    tags.note(outcome)
                    if tags.isFull { worst.raise(to: tags.flush(to: cache, common)) }
                }
                bar.update { $0.progress = progress }
            case .brokenList(let error):
                common.report(error, for: nil)
                worst.raise(to: .usage)
            case .waiting:
                output.flush()
                if output.problem != nil { prefetcher.finishEarly(lists, countsRest: false) }
                if Terminal.isClosed { prefetcher.finishEarly(lists) }
            }
        }
        return (report, worst)
    }

    private func report(_ outcome: PrefetchOutcome) -> ExitStatus {
        write(outcome)
        guard let error = outcome.error, !error.isCancellation, !error.isLeftOut else {
            if common.verbose { tell(outcome) }
            return .success
        }
        // When the cache fails, all items in flight fail alike. The failure is reported once, at the end.
        // So does a full disk of the copies.
        if error.isOfFullOutput || error.isCacheFailure && !error.isAboutOneImage && !error.isLocked {
            return .cacheFailed
        }
        annotations?.add(error, at: outcome.item)
        let name = "\(place(outcome.item)): \(RequestURL.redacted(outcome.item.text))"
        let hint = Hints.expansion(in: outcome.item.text)
        guard settings.variants.count > 1, case .retrieved = outcome.ending else {
            common.report(error, for: name, about: settings.overlay(of: 0, missedBy: error), hint: hint)
            return error.status
        }
        return common.report(failuresOf: reports(outcome), for: name, hint: hint)
    }

    /// Writes the outcome to standard output and the files, and warns of what a copy lacks.
    private func write(_ outcome: PrefetchOutcome) {
        var hasOutputs = false
        if case .retrieved(let results) = outcome.ending { hasOutputs = results.contains(where: \.isWorthTelling) }
        let isTold = hasOutputs && !common.quiet
        let needsReports = common.json || output.hasRows
        let reports = needsReports || isTold ? reports(outcome) : []
        var lines: [String] = []
        if common.json {
            lines = reports.map(\.json)
        } else if isTold, printed != .none {
            lines = reports.compactMap { printed == .all || $0.isNew ? $0.output : nil }
        }
        output.take(outcome.item, lines: lines, reports, hasFailed: outcome.error.map { !$0.isLeftOut } ?? false)
        if isTold { for report in reports { report.warn(common, of: RequestURL.redacted(outcome.item.text)) } }
    }

    private func place(_ item: PrefetchItem) -> String {
        paths.count == 1 ? "line \(item.line)" : "\(item.list == "-" ? "standard input" : item.list): line \(item.line)"
    }

    private func tell(_ outcome: PrefetchOutcome) {
        for report in reports(outcome) {
            let name = Terminal.visible(RequestURL.redacted(outcome.item.text))
            let variant = report.label.map { " (\($0))" } ?? ""
            let check = report.result?.check.map { " (check: \($0.rawValue))" } ?? ""
            let status =
                report.leftOut.map { "left out, \(Terminal.visible($0))" } ?? report.result.map(ItemReport.account(of:))
                ?? (report.status == "not_tried" ? "not tried" : report.status)
            Terminal.printError("kf: \(name)\(variant): \(status)\(check)")
        }
    }

    private func reports(_ outcome: PrefetchOutcome) -> [ItemReport] {
        var common = ItemReport(source: outcome.item.text, name: "")
        common.place = (list: outcome.item.list, line: outcome.item.line)
        common.columns = outcome.item.recordColumns
        if let altColumn { common.alternativeText = outcome.item.columns[altColumn] ?? "" }
        if case .shards(_, let shards) = destination { common.sample = shards.names.sample(at: outcome.item.position) }
        return settings.rows(outcome, common)
    }

    private func conclude(_ report: PrefetchReport) -> ExitStatus {
        if let problem = output.problem {
            Terminal.printError("kf: \(Terminal.visible(problem))")
            return .cacheFailed
        }
        switch report.ending {
        case .finished:
            guard Terminal.isClosed, report.progress.notTried + report.unreadLists > 0 else { return .success }
            Terminal.printError(RetrievalSettings.closedMessage)
            return .stoppedEarly
        case .failed(let error):
            common.report(error, for: nil)
            return .cacheFailed
        case .tooManyFailures:
            Terminal.printError(
                "kf: stopped early by --max-failures: \(report.progress.failed) failed, with those that were in flight")
            return .stoppedEarly
        case .deadline:
            Terminal.printError(RetrievalSettings.deadlineMessage)
            return .stoppedEarly
        }
    }
}
