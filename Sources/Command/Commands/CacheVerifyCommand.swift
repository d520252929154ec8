import KFCore

enum CacheVerifyCommand {
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let common = try CommonSettings(arguments)
        let selection = try EntrySelection(arguments)
        let repairs = try arguments[Options.repair]
        if let lock = try arguments[Options.verifiedLock] {
            guard !repairs, selection.isEmpty else {
                throw UsageError(message: "--lock checks the images of the lock alone, and repairs nothing")
            }
            return CacheLockCheck.run(lock, common)
        }
        return common.onCache(access: repairs ? .existing : .readOnly) { cache throws(KingfisherError) in
            let start = ContinuousClock.now
            guard let noted = try await selection.noted(in: cache, common) else { return .someFailed }
            var status = noted.status
            let result = try await cache.verify(noted.selection, repairs: repairs) { report($0, common) }
            if (result?.damage ?? 0) > 0 { status.raise(to: .someFailed) }
            let elapsed = start.duration(to: .now)
            if common.json {
                let record = (result ?? Verification(), result != nil, common.cacheDirectory, elapsed)
                Terminal.print(JSONObject(summary: record, summary, status: status).json)
            } else if !common.quiet {
                let told = result.map { "\(text($0, repairs: repairs)) (\(ByteText.seconds(elapsed)))" }
                Terminal.print(told ?? "\(Terminal.visible(common.cacheDirectory)): no cache yet")
            }
            return status
        }
    }

    private static func report(_ finding: CacheFinding, _ common: CommonSettings) {
        if common.json {
            Terminal.print(JSONObject(finding, fields).json)
        } else if !common.quiet {
            let place = finding.path.map { "\(Terminal.visible($0)): " } ?? ""
            let names = finding.entries.map { EntryText.name($0, whole: common.verbose) }
            let entries = names.isEmpty ? "" : " (\(names.joined(separator: ", ")))"
            let repaired = finding.isRepaired ? "; \(finding.kind.isRemoved ? "removed" : "repaired")" : ""
            Terminal.print("\(finding.kind.rawValue): \(place)\(Terminal.visible(finding.detail))\(entries)\(repaired)")
        }
    }

    private static func text(_ result: Verification, repairs: Bool) -> String {
        let looked =
            "checked \(EntryText.count(result.entries, "entry", "entries")) and "
            + "\(EntryText.count(result.files, "file")), \(ByteText.bytes(result.bytes))"
        if result.isClean { return "\(looked): no damage" }
        let kinds = CacheFinding.Kind.allCases.compactMap { kind in
            result.counts[kind].map { kind.text($0.found) }
        }
        let found = "\(looked): \(kinds.joined(separator: ", "))"
        if repairs {
            let removed = result.counts.reduce(0) { $0 + ($1.key.isRemoved ? $1.value.repaired : 0) }
            let left = EntryText.counts((result.found - result.repaired, "not repaired"))
            let done = EntryText.counts((removed, "removed"), (result.repaired - removed, "repaired"))
            if left.isEmpty, done.count == 1 { return "\(found); all \(removed > 0 ? "removed" : "repaired")" }
            return "\(found); \((done + left).joined(separator: ", "))"
        }
        return
            "\(found); --repair \(result.damage > 0 ? "repairs it" : "removes \(result.found == 1 ? "it; it is" : "them; they are") harmless")"
    }

    static let fields: [JSONField<CacheFinding>] = [
        JSONField("kind", "The kind of the finding, and whether it is damage rather than a harmless leftover.") {
            $0.kind.rawValue
        },
        JSONField("damage", nil) { $0.kind.isDamage },
        JSONField("path", "The file, the entries that it concerns, and details in words.") { $0.path },
        JSONField("entries", nil) { $0.entries.map(\.description) },
        JSONField("detail", nil) { $0.detail },
        JSONField("repaired", "Whether the damage was repaired, which may be by removing the file or its entries.") {
            $0.isRepaired
        },
    ]

    typealias Record = (result: Verification, exists: Bool, directory: String, elapsed: Duration)

    static let summary: [JSONField<Record>] = [
        JSONField("directory", "The cache directory, and whether there is a cache in it.") { $0.directory },
        JSONField("exists", nil) { $0.exists },
        JSONField("clean", "Whether nothing was found.") { $0.result.isClean },
        JSONField("entries", "The entries and files that were checked, and the size of the files.") {
            $0.result.entries
        },
        JSONField("files", nil) { $0.result.files },
        JSONField("bytes", nil) { $0.result.bytes },
        JSONField("found", "The numbers of findings, of repairs, and of damage that remains.") { $0.result.found },
        JSONField("repaired", nil) { $0.result.repaired },
        JSONField("damage", nil) { $0.result.damage },
        JSONField("counts", "The number of findings of each kind.") { record in
            var counts = JSONObject()
            for kind in CacheFinding.Kind.allCases { counts.add(kind.rawValue, record.result.counts[kind]?.found ?? 0) }
            return counts
        },
        JSONField("seconds", "The duration of the check.") { $0.elapsed },
        JSONField("error", "Always null.") { _ in String?.none },
    ]
}
