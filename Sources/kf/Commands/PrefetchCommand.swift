import KFCore

/// `kf prefetch`: lists into the cache.
struct PrefetchCommand: Sendable {
    private let common: CommonSettings
    private let settings: RetrievalSettings
    private let lists: [String]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        settings = try RetrievalSettings(arguments)
        guard !arguments.operands.isEmpty || !Terminal.isTerminal(0) else {
            throw UsageError(message: "'kf prefetch' needs a list: a file with one URL a line, or - for standard input")
        }
        guard settings.options.diskCacheExpiration != .expired else {
            throw UsageError(
                message: "with --expire expired nothing is stored, and storing is all that prefetch is for")
        }
        lists = arguments.operands.isEmpty ? ["-"] : arguments.operands
    }

    func run() -> ExitStatus {
        let manager = settings.manager(common)
        let prefetcher = ImagePrefetcher(
            manager: manager, options: settings.options, maxConcurrentDownloads: settings.jobs)
        let queue = ListQueue(lists)
        let interrupts = Interrupts {
            if let list = queue.end() { prefetcher.finishEarly(list) }
        } second: {
            manager.cache.discardTemporaries()
        }
        var status = ExitStatus.success
        var progress = PrefetchProgress()
        let start = ContinuousClock.now
        while status < .cacheFailed {
            do throws(KingfisherError) {
                guard let list = try queue.next() else { break }
                let (done, worst) = Blocking.wait { await prefetch(list, prefetcher) }
                progress.add(done.progress)
                status.raise(to: worst)
                if let failure = done.failure { throw failure }
            } catch {
                common.report(error, for: nil)
                status.raise(to: error.isCacheFailure ? .cacheFailed : .someFailed)
            }
        }
        manager.shutdownNow()
        summarize(progress, start.duration(to: .now))
        if let interrupted = interrupts.status { status.raise(to: interrupted) }
        return status
    }

    private func prefetch(
        _ list: PrefetchList, _ prefetcher: ImagePrefetcher
    ) async -> (PrefetchReport, ExitStatus) {
        var worst = ExitStatus.success
        let report = await prefetcher.prefetch(list) { outcome, _ in
            worst.raise(to: self.report(outcome))
            if Terminal.isClosed { prefetcher.finishEarly(list) }
        }
        return (report, worst)
    }

    private func report(_ outcome: PrefetchOutcome) -> ExitStatus {
        if common.json { Terminal.print(json(outcome).line) }
        switch outcome.ending {
        case .failed(let error):
            // Of a failing cache everything in flight would say the same; it is said once, at the end.
            if error.isCacheFailure, !error.isAboutOneImage { return .cacheFailed }
            let name = RequestURL.redacted(outcome.item.text)
            common.report(error, for: "line \(outcome.item.line): \(name)")
            return error.isCacheFailure ? .cacheFailed : .someFailed
        case .completed(let result):
            if common.verbose {
                Terminal.printError("kf: \(Terminal.visible(result.source.name)): \(result.way.rawValue)")
            }
            return .success
        case .skipped(let file):
            if common.verbose { Terminal.printError("kf: \(Terminal.visible(RequestURL.redacted(file.key))): skipped") }
            return .success
        }
    }

    private func json(_ outcome: PrefetchOutcome) -> JSONObject {
        switch outcome.ending {
        case .completed(let result):
            var report = ItemReport(source: outcome.item.text, name: "")
            report.key = result.key
            report.result = result
            return report.json
        case .failed(let error):
            var report = ItemReport(source: outcome.item.text, name: "")
            report.error = error
            return report.json
        case .skipped(let file):
            var object = JSONObject()
            object.add("schema", 1)
            object.add("source", RequestURL.withoutUserInfo(outcome.item.text))
            object.add("key", file.key)
            object.add("status", "skipped")
            object.add("path", file.path)
            object.add("output", String?.none)
            object.add(facts: file.facts)
            object.add("http_status", Int?.none)
            object.add("attempts", 0)
            object.add("timings", JSONObject?.none)
            object.add("error", JSONObject?.none)
            return object
        }
    }

    private func summarize(_ progress: PrefetchProgress, _ elapsed: Duration) {
        if common.json {
            var object = JSONObject()
            object.add("schema", 1)
            object.add("summary", true)
            object.add("skipped", progress.skipped)
            object.add("failed", progress.failed)
            object.add("completed", progress.completed)
            object.add("bytes", progress.bytes)
            object.add("seconds", seconds: elapsed)
            Terminal.print(object.line)
        } else if !common.quiet {
            Terminal.printError(
                "kf: \(progress.completed) completed (\(ByteText.bytes(progress.bytes))), \(progress.skipped) in the cache "
                    + "already, \(progress.failed) failed, in \(ByteText.seconds(elapsed))")
        }
    }
}
