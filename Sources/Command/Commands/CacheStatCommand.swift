import KFCore

enum CacheStatCommand {
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let common = try CommonSettings(arguments)
        let resets = try arguments[Options.reset]
        let sizeLimit = try arguments[Options.comparedSize]
        return common.onCache(sizeLimit: sizeLimit, access: resets ? .existing : .readOnly) {
            cache throws(KingfisherError) in
            if resets { try await cache.resetCounts() }
            let summary = try await cache.summary(exactly: common.verbose)
            if common.json {
                Terminal.print(JSONObject((summary, common.cacheDirectory), fields).json)
            } else {
                print(summary, common)
            }
            return .success
        }
    }

    /// `kf cache tags`
    static func tags(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let common = try CommonSettings(arguments)
        return common.onCache(access: .readOnly) { cache throws(KingfisherError) in
            let tags = try await cache.tags()
            let width = tags.map { Terminal.visible($0.name).count }.max() ?? 0
            for tag in tags {
                let counts = "\(EntryText.count(tag.entries, "entry", "entries")), \(ByteText.bytes(tag.bytes))"
                let text = TextColumns.pad(Terminal.visible(tag.name), to: width + 2) + counts
                Terminal.print(common.json ? JSONObject(tag, shareFields).json : text)
            }
            return .success
        }
    }

    private static func print(_ summary: CacheSummary?, _ common: CommonSettings) {
        guard let summary else {
            Terminal.print("\(Terminal.visible(common.cacheDirectory)): no cache yet")
            return
        }
        let totals = summary.totals
        if common.quiet {
            let entries = "\(EntryText.count(totals.entries, "entry", "entries")), \(ByteText.bytes(totals.stored))"
            Terminal.print(([entries] + partials(summary)).joined(separator: "; "))
            return
        }
        var rows = [
            ("directory", Terminal.visible(summary.directory)),
            ("entries", entries(summary)),
            ("expired", "\(totals.isExpiredExact ? "" : "at least ")\(totals.expired)"),
            (
                "files",
                "\(totals.objects), \(ByteText.bytes(totals.stored))"
                    + (summary.allocated.map { "; \(ByteText.bytes($0)) on the disk" } ?? "")
            ),
        ]
        rows += partials(summary).map { ("partial", $0) }
        rows += [("limit", limit(summary)), ("reads", reads(totals.reads))]
        if totals.reads.remotes != RemoteCounts() { rows.append(("remotes", totals.reads.remotes.summary)) }
        let shown = common.verbose ? Int.max : 10
        for (label, shares) in [("hosts", summary.hosts), ("formats", summary.formats)] {
            for (index, share) in shares.prefix(shown).enumerated() {
                let text = "\(Terminal.visible(share.name)): \(share.entries), \(ByteText.bytes(share.bytes))"
                rows.append((index == 0 ? label : "", text))
            }
            if shares.count > shown { rows.append(("", "and \(shares.count - shown) more, -v shows them")) }
        }
        rows += bars(summary.ages)
        for (label, value) in rows { Terminal.print(TextColumns.pad(label, to: 11) + value) }
    }

    private static func entries(_ summary: CacheSummary) -> String {
        let totals = summary.totals
        let answers = summary.answers
        var parts = [EntryText.count(totals.entries - totals.variants, "original"), "\(summary.processed) processed"]
        if answers > 0 { parts.append(EntryText.count(answers, "answer without an image", "answers without an image")) }
        return "\(totals.entries) (\(parts.joined(separator: ", ")))"
    }

    /// The line about partial downloads; empty when there are none.
    private static func partials(_ summary: CacheSummary) -> [String] {
        guard summary.partials > 0 else { return [] }
        return ["\(EntryText.partials(summary.partials)), \(ByteText.bytes(summary.partialBytes))"]
    }

    private static func limit(_ summary: CacheSummary) -> String {
        guard summary.limit > 0 else { return "none" }
        let taken = Double(summary.totals.stored + summary.partialBytes)
        let percent = Int(clamping: (taken / Double(summary.limit) * 100).rounded())
        return "\(ByteText.limit(summary.limit)), \(percent) % full"
    }

    private static func reads(_ reads: ReadCounts) -> String {
        let counts =
            "at least \(EntryText.count(Int(reads.hits), "hit")), \(EntryText.count(Int(reads.misses), "miss", "misses"))"
        guard let since = reads.since else { return counts }
        return "\(counts) in the last \(SpanText.short(Timestamp.now().since(since)))"
    }

    private static func bars(_ ages: [CacheShare]) -> [(String, String)] {
        let most = max(1, ages.map(\.entries).max() ?? 1)
        guard ages.contains(where: { $0.entries > 0 }) else { return [] }
        return ages.enumerated().map { index, age in
            let name = age.name == "older" ? age.name : "< \(age.name)"
            let width = age.entries == 0 ? 0 : max(1, age.entries * 30 / most)
            let bar = String(repeating: "#", count: width)
            return (
                index == 0 ? "ages" : "", TextColumns.pad(name, to: 7) + TextColumns.pad(bar, to: 32) + "\(age.entries)"
            )
        }
    }

    /// A cache's figures; nil when there is no cache.
    typealias Record = (summary: CacheSummary?, directory: String)

    static let fields: [JSONField<Record>] =
        [
            JSONField("directory", "The cache directory, and whether there is a cache in it.") {
                $0.summary?.directory ?? $0.directory
            },
            JSONField("exists", nil) { $0.summary != nil },
        ] + totals.map { $0.of { $0.summary?.totals ?? CacheTotals() } } + [
            JSONField("allocated_bytes", "The disk space of the files, as du counts; null without -v.") {
                $0.summary?.allocated
            },
            JSONField("partials", "The number of partial downloads, and their size, which counts in the limit.") {
                $0.summary?.partials ?? 0
            },
            JSONField("partial_bytes", nil) { $0.summary?.partialBytes ?? 0 },
            JSONField("limit", "The size limit; 0 is no limit.") { $0.summary?.limit },
        ] + reads.map { $0.of { $0.summary?.totals.reads } } + [
            JSONField("ages", "Entries by age, by host and by format: name, entries and bytes of each.") {
                ($0.summary?.ages ?? []).map(share)
            },
            JSONField("hosts", nil) { ($0.summary?.hosts ?? []).map(share) },
            JSONField("formats", nil) { ($0.summary?.formats ?? []).map(share) },
        ]

    private static let totals: [JSONField<CacheTotals>] = [
        JSONField("entries", "The numbers of all entries, and of originals, processed images and expired entries.") {
            $0.entries
        },
        JSONField("originals", nil) { $0.entries - $0.variants },
        JSONField("variants", nil) { $0.variants },
        JSONField("expired", nil) { $0.expired },
        JSONField("expired_exact", "Whether expired is exact; else entries that expire within the hour may be missing.")
        {
            $0.isExpiredExact
        },
        JSONField("bytes", "The size of all entries together.") { $0.bytes },
        JSONField("files", "The number of files, and their size; entries with equal bytes share a file.") {
            $0.objects
        },
        JSONField("stored_bytes", nil) { $0.stored },
    ]

    private static let reads: [JSONField<ReadCounts?>] = [
        JSONField("remote", "What came from remotes and was uploaded, as in the summary of prefetch.") {
            JSONObject(part: $0?.remotes ?? RemoteCounts(), RemoteCounts.fields)
        },
        JSONField("hits", "Lower bounds: a process that cannot write when it ends is not counted.") { $0?.hits ?? 0 },
        JSONField("misses", nil) { $0?.misses ?? 0 },
        JSONField("counted_since", "The start of the counts, in seconds since 1970; null for the cache's beginning.") {
            $0?.since?.seconds
        },
    ]

    private static func share(_ share: CacheShare) -> JSONObject { JSONObject(part: share, shareFields) }

    static let shareFields: [JSONField<CacheShare>] = [
        JSONField("name", "The tag, the number of its entries, and their size.") { $0.name },
        JSONField("entries", nil) { $0.entries }, JSONField("bytes", nil) { $0.bytes },
    ]
}
