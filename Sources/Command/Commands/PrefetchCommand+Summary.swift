import KFCore

extension PrefetchCommand {
    /// The members of the last line of `--json`.
    static let summary: [JSONField<Summary>] = [
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
        JSONField("from_remote", "The number of items that came from a --remote, and their bytes.") {
            $0.report.progress.remote
        },
        JSONField("remote_bytes", nil) { $0.report.progress.remoteBytes },
        JSONField("exported", "The number of cached items in whole archives of --shards.") {
            $0.report.progress.exported
        },
        JSONField("remembered", "The number of failed items whose failure was remembered: no request was made.") {
            $0.report.progress.remembered
        },
        JSONField("filtered", "The numbers of items that a filter refused, and whose servers opted out.") {
            $0.report.progress.filtered
        },
        JSONField("opted_out", nil) { $0.report.progress.optedOut },
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
        JSONField("bytes", "The bytes that were fetched from origins, and the duration of the run.") {
            $0.report.progress.bytes
        },
        JSONField("seconds", nil) { $0.elapsed },
        RetrievalSettings.changed { $0.cache }, RetrievalSettings.evicted { $0.cache },
        RetrievalSettings.lockCounts { $0.lock },
        RemoteCounts.field { $0.cache.remoteCounts },
    ]
}
