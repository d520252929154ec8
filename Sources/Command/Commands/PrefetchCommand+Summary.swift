import KFCore

extension PrefetchCommand {
    /// The members of the last line of `--json`.
    static let summary = figures + RetrievalSettings.summary.map { $0.of { ($0.cache, $0.lock) } }

    private static let figures: [JSONField<Summary>] = [
        JSONField("cached", "The numbers of items that were cached already, failed, and came from their origin.") {
            $0.report.progress.skipped
        },
        JSONField("failed", nil) { $0.report.progress.failed },
        JSONField("fetched", nil) { $0.report.progress.fetched },
        JSONField("completed", "Deprecated: fetched, derived, revalidated and from a remote together.") {
            $0.report.progress.completed
        },
        JSONField(
            "derived", "The numbers of items that were made from cached originals, and that the origin confirmed."
        ) { $0.report.progress.derived },
        JSONField("revalidated", nil) { $0.report.progress.revalidated },
        JSONField("from_remote", "The number of items that came from a --remote, and the bytes that it sent of them.") {
            $0.report.progress.remote
        },
        JSONField("remote_bytes", nil) { $0.report.progress.remoteBytes },
        JSONField("exported", "The number of cached items in whole archives of --shards.") {
            $0.report.progress.exported
        },
        JSONField("remembered", "The number of failed items whose failure was remembered: no request was made.") {
            $0.report.progress.remembered
        },
        JSONField(
            "filtered",
            "The numbers of items that a filter refused, whose servers opted out, and that --drop-duplicates left out."
        ) {
            $0.report.progress.filtered
        },
        JSONField("opted_out", nil) { $0.report.progress.optedOut },
        JSONField("duplicates", nil) { $0.report.progress.duplicates },
        JSONField(
            "cancelled",
            "The numbers of items that were cut off in their transfer, and that were not tried: a signal, --deadline or "
                + "--max-failures ended the run before."
        ) { $0.report.progress.cancelled },
        JSONField("not_tried", nil) { $0.report.progress.notTried },
        JSONField(
            "incomplete_lists",
            "The number of lists that were not read to their end. They may have more items than are counted."
        ) { $0.report.brokenLists + $0.report.unreadLists },
        JSONField("written", "The numbers of files that were written, and that had the same bytes already.") {
            $0.report.progress.written
        },
        JSONField("unchanged", nil) { $0.report.progress.unchanged },
        JSONField.ifPresent("pruned", "With --prune-output: the files that were removed.") { $0.pruned },
        JSONField("written_bytes", "The size of the written files.") { $0.report.progress.writtenBytes },
        JSONField(
            "bytes", "The bytes of bodies that came from origins, failed ones included, and the duration of the run."
        ) {
            $0.report.progress.bytes
        },
        JSONField("seconds", nil) { $0.elapsed },
    ]

    typealias Summary = (
        report: PrefetchReport, elapsed: Duration, cache: ImageCache, lock: LockedRun?, pruned: [String]?
    )

    func summarize(_ summary: Summary, _ status: ExitStatus) {
        Session.current.messages.finish()
        let (report, elapsed, cache, _, pruned) = summary
        let progress = report.progress
        if common.json {
            Terminal.print(JSONObject(summary: summary, Self.summary, status: status).json)
            return
        }
        // When no list could be read, the messages about that are all that there is to say.
        guard !common.quiet, progress.finished > 0 || report.brokenLists == 0 else { return }
        var parts = ["\(progress.fetched) fetched (\(ByteText.bytes(progress.bytes)))"]
        if progress.remote > 0 {
            parts.append("\(progress.remote) from the remote (\(ByteText.bytes(progress.remoteBytes)))")
        }
        parts += EntryText.counts((progress.derived, "derived"), (progress.revalidated, "revalidated"))
        let exported = progress.exported == 0 ? "" : " (\(progress.exported) in whole shards)"
        parts.append("\(progress.skipped) cached\(exported)")
        let remembered = progress.remembered == 0 ? "" : " (\(progress.remembered) remembered, not asked again)"
        parts.append("\(progress.failed) failed\(remembered)")
        parts += EntryText.counts((progress.filtered, "filtered"), (progress.optedOut, "opted out"))
        if progress.duplicates > 0 { parts.append(EntryText.count(progress.duplicates, "duplicate")) }
        parts += EntryText.counts((progress.cancelled, "cancelled"), (progress.notTried, "not tried"))
        if progress.written + progress.unchanged > 0 {
            let size = progress.written == 0 ? "" : " (\(ByteText.bytes(progress.writtenBytes)))"
            parts += [
                "\(EntryText.count(progress.written, "file")) written\(size)", "\(progress.unchanged) unchanged",
            ]
        }
        if let pruned, !pruned.isEmpty { parts.append("\(pruned.count) removed") }
        let lists = report.brokenLists + report.unreadLists
        let note = lists == 0 ? "" : "; \(lists) list\(lists == 1 ? " was" : "s were") not read to the end"
        Terminal.printError("kf: \(parts.joined(separator: ", ")), in \(ByteText.seconds(elapsed))\(note)")
        if let remote = cache.remoteCounts { Terminal.printError("kf: remote: \(remote.summary)") }
        if common.verbose { Terminal.printError("kf: the cache has \(cache.hasChanged ? "" : "not ")changed") }
    }
}
