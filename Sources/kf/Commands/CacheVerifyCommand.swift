import KFCore

/// `kf cache verify`: whether the cache is what its index says.
struct CacheVerifyCommand: Sendable {
    private let common: CommonSettings
    private let repairs: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        repairs = arguments.flag("repair")
    }

    func run() async -> ExitStatus {
        let cache = common.cache(sizeLimit: nil, access: repairs ? .existing : .readOnly)
        let start = ContinuousClock.now
        do {
            let result = try await cache.verify(repairs: repairs) { [self] in report($0) }
            let status = (result?.damage ?? 0) > 0 ? ExitStatus.someFailed : .success
            summarize(result, start.duration(to: .now), status)
            return status
        } catch {
            common.report(error, for: nil)
            return .cacheFailed
        }
    }

    private func report(_ finding: CacheFinding) {
        if common.json {
            Terminal.print(Self.json(finding).line)
        } else if !common.quiet {
            let place = finding.path.map { "\(Terminal.visible($0)): " } ?? ""
            let names = finding.entries.map { EntryText.name($0, whole: common.verbose) }
            let entries = names.isEmpty ? "" : " (\(names.joined(separator: ", ")))"
            let repaired = finding.isRepaired ? "; repaired" : ""
            Terminal.print("\(finding.kind.rawValue): \(place)\(Terminal.visible(finding.detail))\(entries)\(repaired)")
        }
    }

    private func summarize(_ result: Verification?, _ elapsed: Duration, _ status: ExitStatus) {
        let verification = result ?? Verification()
        if common.json {
            Terminal.print(json(verification, exists: result != nil, elapsed, status).line)
        } else if !common.quiet {
            guard let result else {
                Terminal.print("\(Terminal.visible(common.cacheDirectory)): no cache yet")
                return
            }
            Terminal.print(text(result) + " (\(ByteText.seconds(elapsed)))")
        }
    }

    private func text(_ result: Verification) -> String {
        let looked =
            "checked \(EntryText.count(result.entries, "entry", "entries")) and "
            + "\(EntryText.count(result.files, "file")), \(ByteText.bytes(result.bytes))"
        if result.isClean { return "\(looked): all is well" }
        let kinds = CacheFinding.Kind.allCases.compactMap { kind in
            result.counts[kind].map { "\($0.found) \(kind.rawValue)" }
        }
        let found = "\(looked): \(kinds.joined(separator: ", "))"
        if repairs {
            let left = result.found - result.repaired
            return "\(found); \(left == 0 ? "all repaired" : "\(result.repaired) repaired, \(left) not")"
        }
        return "\(found); --repair \(result.damage > 0 ? "mends it" : "removes them, they do no harm")"
    }

    private static func json(_ finding: CacheFinding) -> JSONObject {
        var object = JSONObject()
        object.add("schema", 1)
        object.add("kind", finding.kind.rawValue)
        object.add("damage", finding.kind.isDamage)
        object.add("path", finding.path)
        object.add("entries", strings: finding.entries.map(\.description))
        object.add("detail", finding.detail)
        object.add("repaired", finding.isRepaired)
        return object
    }

    private func json(
        _ result: Verification, exists: Bool, _ elapsed: Duration, _ status: ExitStatus
    ) -> JSONObject {
        var object = JSONObject()
        object.add("schema", 1)
        object.add("summary", true)
        object.add("directory", common.cacheDirectory)
        object.add("exists", exists)
        object.add("clean", result.isClean)
        object.add("entries", result.entries)
        object.add("files", result.files)
        object.add("bytes", result.bytes)
        object.add("found", result.found)
        object.add("repaired", result.repaired)
        object.add("damage", result.damage)
        var counts = JSONObject()
        for kind in CacheFinding.Kind.allCases { counts.add(kind.rawValue, result.counts[kind]?.found ?? 0) }
        object.add("counts", counts)
        object.add("seconds", seconds: elapsed)
        object.add("exit_status", status.rawValue)
        return object
    }
}
