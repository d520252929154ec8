import KFCore

/// `kf prefetch --dry-run`: says of each image of the lists whether the cache has it, without a request.
struct PrefetchDryRunCommand: Sendable {
    let common: CommonSettings
    let settings: RetrievalSettings
    /// Whether a missing image makes the command fail.
    let checks: Bool
    /// The exporter whose copies the run would prune.
    let exporter: ImageExporter?
    /// Whether the run would keep what it makes.
    let keepsResults: Bool
    /// Returns the text that names the line of an item.
    let place: @Sendable (PrefetchItem) -> String

    func run(_ lists: PrefetchLists) -> ExitStatus {
        let manager = KingfisherManager(cache: settings.cacheToRead(common))
        let settings = settings.withOverlays(manager, isLook: true)
        // A run asks for no image that its cache could not take. It requests an overlay all the same.
        let forms = settings.variants.map { variant in
            var options = variant.options
            if settings.isReadOnly, options.overlayProblem == nil { options.onlyFromCache = true }
            return options
        }
        let run = PrefetchDryRun(manager: manager, forms: forms, lock: settings.lock, keepsResults: keepsResults)
        let start = ContinuousClock.now
        var (counts, status) = Blocking.wait { await look(run, lists) }
        let isWhole = status == .success && !Terminal.isClosed
        let pruned = exporter.flatMap {
            PrefetchCommand.prune($0, manager.cache, common, isWhole: isWhole, dryRun: true, &status)
        }
        if !common.json, !common.quiet { pruned?.forEach { Terminal.print("prune\t\(Terminal.visible($0))") } }
        manager.shutdownNow()
        Session.current.messages.finish()
        if checks, counts[.missing] != nil || counts[.invalid] != nil { status.raise(to: .someFailed) }
        if common.json {
            Terminal.print(
                JSONObject(summary: (counts, start.duration(to: .now), pruned), Self.summary, status: status).json)
        } else if !common.quiet, !counts.isEmpty || status != .usage {
            let leftOut = counts[.leftOut].map { ", \($0) left out" } ?? ""
            Terminal.printError(
                "kf: \(EntryText.count(counts[.hit, default: 0], "hit")), \(counts[.stale, default: 0]) stale, "
                    + "\(counts[.missing, default: 0]) missing, \(counts[.invalid, default: 0]) invalid\(leftOut)")
        }
        return status
    }

    typealias Counts = [PrefetchDryRun.State: Int]

    private func look(_ run: PrefetchDryRun, _ lists: PrefetchLists) async -> (Counts, ExitStatus) {
        var counts: Counts = [:]
        var status = ExitStatus.success
        do throws(KingfisherError) {
            try await run.run(lists) { event in
                switch event {
                case .found(let finding):
                    counts[finding.state, default: 0] += 1
                    exporter?.note(finding.item)
                    print(finding)
                case .brokenList(let error):
                    common.report(error, for: nil)
                    status.raise(to: .usage)
                }
                return !Terminal.isClosed
            }
        } catch {
            common.report(error, for: nil)
            status.raise(to: error.status)
        }
        return (counts, status)
    }

    private func print(_ finding: PrefetchDryRun.Finding) {
        let source = RequestURL.withoutUserInfo(finding.item.text)
        if common.json {
            Terminal.print(JSONObject((finding, settings), Self.fields).json)
        } else if !common.quiet {
            Terminal.print("\(finding.state.rawValue)\t\(Terminal.visible(source))")
        }
        if let error = finding.error {
            common.report(error, for: "\(place(finding.item)): \(RequestURL.redacted(finding.item.text))")
        }
    }

    /// An item, with the variants of its images.
    typealias Record = (finding: PrefetchDryRun.Finding, settings: RetrievalSettings)

    /// The image that is told about: the first one in the worst state.
    private static func form(_ record: Record) -> PrefetchDryRun.Form? {
        record.finding.forms.first { $0.state == record.finding.state }
    }

    static let fields: [JSONField<Record>] = [
        JSONField("source", "The source as it was given, without user info.") {
            RequestURL.withoutUserInfo($0.finding.item.text)
        },
        JSONField("list", "The list, and the line in it, from 1.") { $0.finding.item.list },
        JSONField("line", nil) { $0.finding.item.line },
        JSONField("key", CommonFields.key) { $0.finding.item.cacheKey(for: $0.settings.options.request) },
        JSONField(
            "status",
            "hit (served without a request), left_out (refused by --min-size and the like, or opted out), stale (cached, and "
                + "would be revalidated), missing or invalid; of several variants the last of these."
        ) { $0.finding.state.rawValue },
        JSONField("next", "What the next prefetch does first, as cache explain says it; null for an invalid line.") {
            form($0)?.next.rawValue
        },
        JSONField("path", CommonFields.path) { form($0)?.path },
        JSONField("expires", "The end of its freshness in seconds since 1970; null when it never ends, or is unknown.")
        {
            form($0)?.expires?.seconds
        },
        JSONField.ifPresent("variants", "Each variant, when there are several: name, status, next, path and expires.") {
            record -> [JSONObject]? in
            let forms = zip(record.settings.variants, record.finding.forms).map { (variant: $0.name, form: $1) }
            return forms.first?.variant == nil ? nil : forms.map { JSONObject(part: $0, variant) }
        },
        JSONField("error", "null, or code (a stable number), reason (its name) and message (for people).") {
            $0.finding.error.map { JSONObject(part: $0, ItemReport.failure) }
        },
    ]

    private static let variant: [JSONField<(variant: String?, form: PrefetchDryRun.Form)>] = [
        JSONField("variant", nil) { $0.variant }, JSONField("status", nil) { $0.form.state.rawValue },
        JSONField("next", nil) { $0.form.next.rawValue }, JSONField("path", nil) { $0.form.path },
        JSONField("expires", nil) { $0.form.expires?.seconds },
    ]

    static let summary: [JSONField<(counts: Counts, elapsed: Duration, pruned: [String]?)>] = [
        JSONField("hits", "The numbers of items in each state.") { $0.counts[.hit, default: 0] },
        JSONField("stale", nil) { $0.counts[.stale, default: 0] },
        JSONField("missing", nil) { $0.counts[.missing, default: 0] },
        JSONField("invalid", nil) { $0.counts[.invalid, default: 0] },
        JSONField("left_out", nil) { $0.counts[.leftOut, default: 0] },
        JSONField.ifPresent("pruned", "With --prune-output: the files that would be removed.") { $0.pruned },
        JSONField("seconds", "The duration of the run.") { $0.elapsed },
    ]
}
