import KFCore

/// `kf cache stat`: what the cache holds.
struct CacheStatCommand: Sendable {
    private let common: CommonSettings
    private let resets: Bool
    private let sizeLimit: Int64?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        resets = arguments.flag("reset")
        sizeLimit = try arguments.size("max-size")
    }

    func run() async -> ExitStatus {
        let cache = common.cache(sizeLimit: sizeLimit, access: resets ? .existing : .readOnly)
        do {
            if resets { try await cache.resetCounts() }
            let summary = try await cache.summary(exactly: common.verbose)
            if common.json { Terminal.print(json(summary).line) } else { print(summary) }
            return .success
        } catch {
            common.report(error, for: nil)
            return .cacheFailed
        }
    }

    private func print(_ summary: CacheSummary?) {
        guard let summary else {
            Terminal.print("\(Terminal.visible(common.cacheDirectory)): no cache yet")
            return
        }
        let totals = summary.totals
        if common.quiet {
            let entries = "\(EntryText.count(totals.entries, "entry", "entries")), \(ByteText.bytes(totals.stored))"
            Terminal.print(([entries] + Self.partials(summary)).joined(separator: "; "))
            return
        }
        var rows = [
            ("directory", Terminal.visible(summary.directory)),
            ("entries", Self.entries(summary)),
            ("expired", "\(totals.isExpiredExact ? "" : "at least ")\(totals.expired)"),
            ("files", "\(totals.objects), \(ByteText.bytes(totals.stored))" + Self.allocated(summary)),
        ]
        rows += Self.partials(summary).map { ("partial", $0) }
        rows += [("limit", Self.limit(summary)), ("reads", Self.reads(totals.reads))]
        let shown = common.verbose ? Int.max : 10
        for (label, shares) in [("hosts", summary.hosts), ("formats", summary.formats)] {
            for (index, share) in shares.prefix(shown).enumerated() {
                let text = "\(Terminal.visible(share.name)): \(share.entries), \(ByteText.bytes(share.bytes))"
                rows.append((index == 0 ? label : "", text))
            }
            if shares.count > shown { rows.append(("", "and \(shares.count - shown) more, -v shows them")) }
        }
        rows += Self.bars(summary.ages)
        for (label, value) in rows { Terminal.print(TextColumns.pad(label, to: 11) + value) }
    }

    private static func entries(_ summary: CacheSummary) -> String {
        let totals = summary.totals
        let answers = summary.formats.first { $0.name == ImageCache.answerLabel }?.entries ?? 0
        var parts = [
            EntryText.count(totals.entries - totals.variants, "original"), "\(totals.variants - answers) processed",
        ]
        if answers > 0 { parts.append(EntryText.count(answers, "answer without an image", "answers without an image")) }
        return "\(totals.entries) (\(parts.joined(separator: ", ")))"
    }

    private static func allocated(_ summary: CacheSummary) -> String {
        summary.allocated.map { "; \(ByteText.bytes($0)) on the disk" } ?? ""
    }

    /// None, or one text.
    private static func partials(_ summary: CacheSummary) -> [String] {
        guard summary.partials > 0 else { return [] }
        return ["\(EntryText.partials(summary.partials)), \(ByteText.bytes(summary.partialBytes))"]
    }

    private static func limit(_ summary: CacheSummary) -> String {
        guard summary.limit > 0 else { return "none" }
        let taken = Double(summary.totals.stored + summary.partialBytes)
        let percent = Int((taken / Double(summary.limit) * 100).rounded())
        return "\(ByteText.bytes(summary.limit)), \(percent) % full"
    }

    private static func reads(_ reads: ReadCounts) -> String {
        let counts =
            "at least \(EntryText.count(Int(reads.hits), "hit")), \(EntryText.count(Int(reads.misses), "miss", "misses"))"
        guard let since = reads.since else { return counts }
        return "\(counts) in the last \(SpanText.short(Timestamp.now().since(since)))"
    }

    /// How old the entries are, one bar for each span.
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

    private func json(_ summary: CacheSummary?) -> JSONObject {
        let totals = summary?.totals ?? CacheTotals()
        var object = JSONObject()
        object.add("schema", 1)
        object.add("directory", summary?.directory ?? common.cacheDirectory)
        object.add("exists", summary != nil)
        object.add("entries", totals.entries)
        object.add("originals", totals.entries - totals.variants)
        object.add("variants", totals.variants)
        object.add("expired", totals.expired)
        object.add("expired_exact", totals.isExpiredExact)
        object.add("bytes", totals.bytes)
        object.add("files", totals.objects)
        object.add("stored_bytes", totals.stored)
        object.add("allocated_bytes", summary?.allocated)
        object.add("partials", summary?.partials ?? 0)
        object.add("partial_bytes", summary?.partialBytes ?? 0)
        object.add("limit", summary?.limit)
        object.add("hits", totals.reads.hits)
        object.add("misses", totals.reads.misses)
        object.add("counted_since", totals.reads.since.map { $0.milliseconds / 1000 })
        object.add("ages", (summary?.ages ?? []).map(Self.json))
        object.add("hosts", (summary?.hosts ?? []).map(Self.json))
        object.add("formats", (summary?.formats ?? []).map(Self.json))
        return object
    }

    private static func json(_ share: CacheShare) -> JSONObject {
        var object = JSONObject()
        object.add("name", share.name)
        object.add("entries", share.entries)
        object.add("bytes", share.bytes)
        return object
    }
}
