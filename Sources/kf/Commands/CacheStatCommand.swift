import KFCore

/// `kf cache stat`: what the cache holds.
struct CacheStatCommand: Sendable {
    private let common: CommonSettings

    init(_ arguments: ParsedArguments) throws(UsageError) { common = try CommonSettings(arguments) }

    func run() async -> ExitStatus {
        let cache = common.cache(sizeLimit: nil, access: .readOnly)
        do {
            let summary = try await cache.summary()
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
        var rows = [
            ("directory", Terminal.visible(summary.directory)),
            (
                "entries",
                "\(totals.entries) (\(Self.count(totals.entries - totals.variants, "original")), \(totals.variants) processed)"
            ),
            ("expired", "\(totals.expired)"),
            ("files", "\(totals.objects), \(ByteText.bytes(totals.stored))"),
            ("limit", summary.limit == 0 ? "none" : ByteText.bytes(summary.limit)),
            ("reads", "at least \(totals.reads.hits) hits, \(totals.reads.misses) misses"),
        ]
        for (label, shares) in [("hosts", summary.hosts), ("formats", summary.formats)] {
            for (index, share) in shares.prefix(10).enumerated() {
                rows.append(
                    (
                        index == 0 ? label : "",
                        "\(Terminal.visible(share.name)): \(share.entries), \(ByteText.bytes(share.bytes))"
                    ))
            }
        }
        for (label, value) in rows {
            Terminal.print(label + String(repeating: " ", count: 11 - label.count) + value)
        }
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

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
        object.add("bytes", totals.bytes)
        object.add("files", totals.objects)
        object.add("stored_bytes", totals.stored)
        object.add("limit", summary?.limit)
        object.add("hits", totals.reads.hits)
        object.add("misses", totals.reads.misses)
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
