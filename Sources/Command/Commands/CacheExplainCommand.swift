import KFCore
import KFSystem

enum CacheExplainCommand {
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let sources = try CachedSources(arguments, of: "kf cache explain")
        let common = sources.common
        return sources.each(asksRemotes: true) { text, source, found in
            if common.json {
                Terminal.print(JSONObject((text, found), fields).json)
            } else if case .provider = source {
                print(found, isLocal: true, common)
            } else {
                print(found, isLocal: false, common)
            }
        } failed: { error, text in
            common.report(error, for: SourceArgument.name(text))
        }
    }

    private static func print(_ explanation: CacheExplanation, isLocal: Bool, _ common: CommonSettings) {
        let plan = explanation.plan
        if common.quiet {
            Terminal.print(plan.step.rawValue)
            return
        }
        let shown = common.verbose ? explanation.key : RequestURL.redacted(explanation.key)
        Terminal.print(
            Terminal.visible(explanation.identifier.isEmpty ? shown : "\(shown)@\(explanation.identifier)"))
        if explanation.entries.isEmpty { Terminal.print("  not cached") }
        for entry in explanation.entries { printEntry(entry) }
        if let removal = explanation.removal, let date = DateText.text(removal.time) {
            Terminal.print("  \(text(removal.reason)) on \(date)Z")
        }
        if explanation.passesOverRemotes {
            Terminal.print("  remotes are not asked: the options or the request of a user forbid it")
        }
        for holding in explanation.remotes { Terminal.print("  remote \(Terminal.visible(text(holding)))") }
        Terminal.print("  the next fetch \(text(plan, isLocal: isLocal))")
        Terminal.print("  because \(Terminal.visible(plan.reasons.joined(separator: ", and ")))")
        for condition in plan.conditions {
            Terminal.print("  request header \(condition.name): \(Terminal.visible(condition.value))")
        }
        if plan.canServeStale, plan.step != .stale {
            Terminal.print("  if the origin cannot be reached, the expired image is served")
        }
    }

    private static func printEntry(_ entry: CachedEntry) {
        let facts = entry.facts
        if let answer = EntryText.answer(entry) {
            let span = entry.isExpired ? "expired" : expiry(entry.expires, isExpired: false)
            Terminal.print("  no image: \(answer), \(span)")
            return
        }
        var parts = [facts.format.rawValue]
        if let pixels = facts.pixels { parts.append(pixels) }
        parts.append(ByteText.bytes(facts.bytes))
        if entry.layer != nil { parts.append("in a lower layer") }
        parts.append("stored \(SpanText.short(Timestamp.now().since(entry.created))) ago")
        parts.append(expiry(entry.expires, isExpired: entry.isExpired))
        let title = entry.name.identifier.isEmpty ? "original" : "@\(entry.name.identifier)"
        Terminal.print("  \(Terminal.visible(title)): \(parts.joined(separator: ", "))")
        Terminal.print("    \(Terminal.visible(entry.path))")
        let validators = [("ETag", entry.etag), ("Last-Modified", entry.lastModified)].compactMap { name, value in
            value.map { "\(name) \($0)" }
        }
        if !validators.isEmpty { Terminal.print("    \(Terminal.visible(validators.joined(separator: ", ")))") }
    }

    private static func text(_ reason: PastRemoval.Reason) -> String {
        switch reason {
        case .evicted: "evicted because the cache was full"
        case .expired: "removed as expired"
        case .removed: "removed by a command or a program"
        case .damaged: "removed because its file was missing or damaged"
        }
    }

    private static func text(_ holding: RemoteHolding) -> String {
        if let problem = holding.problem, holding.image == nil, holding.original == nil {
            return "\(holding.remote): not known: \(problem)"
        }
        let found = [("the image", holding.image), ("its original", holding.original)].compactMap { name, found in
            found.map { "\(name), \(text($0))" }
        }
        return "\(holding.remote): \(found.isEmpty ? "nothing" : found.joined(separator: "; "))"
    }

    private static func text(_ found: RemoteHolding.Found) -> String {
        let expiry = expiry(found.expires, isExpired: found.isExpired)
        let bytes = ByteText.bytes(found.facts.bytes)
        return "\(found.facts.format.rawValue), \(bytes), \(expiry)\(found.hasObject ? "" : ", its bytes are missing")"
    }

    private static func expiry(_ time: Timestamp, isExpired: Bool) -> String {
        let now = Timestamp.now()
        if isExpired { return "expired \(SpanText.short(now.since(time))) ago" }
        return "expires \(SpanText.expiry(time, now: now))"
    }

    private static func text(_ plan: RetrievalPlan, isLocal: Bool) -> String {
        switch plan.step {
        case .memory: "is served from memory"
        case .disk: "is served from the disk"
        case .derive: "makes the image from the cached original, without a request"
        case .revalidate: "revalidates the image with the origin"
        case .remote: "takes the image from a remote"
        case .request: isLocal ? "reads the source" : "downloads the image"
        case .answer: "fails: the server's error is cached [2002]"
        case .leaveOut: "leaves the image out"
        case .stale: "serves the expired image"
        case .refuse: "fails: not in the cache [3006]"
        }
    }

    static let fields: [JSONField<(source: String, found: CacheExplanation)>] = [
        JSONField("source", "The source as it was given, without user info.") {
            RequestURL.withoutUserInfo($0.source)
        },
        JSONField("key", CommonFields.key) { $0.found.key },
        JSONField("identifier", EntryTable.identifier) { $0.found.identifier },
        JSONField("path", CommonFields.path) { $0.found.target?.path },
        JSONField(
            "next",
            "What the next fetch does: memory, disk, derive, revalidate, request, remote (take it from a --remote), "
                + "answer (repeat a cached error), leave_out (as the filters or --respect-opt-out say), stale or refuse."
        ) { $0.found.plan.step.rawValue },
        JSONField("reasons", "The reasons, in words.") { $0.found.plan.reasons },
        JSONField("conditions", "The headers of a conditional request.") { record in
            var conditions = JSONObject()
            for condition in record.found.plan.conditions { conditions.add(condition.name, condition.value) }
            return conditions
        },
        JSONField("can_serve_stale", "Whether the expired image may be served when the origin fails.") {
            $0.found.plan.canServeStale
        },
        JSONField("entries", "The entries of the source, as cache ls prints them.") {
            $0.found.entries.map { JSONObject($0, EntryTable.fields) }
        },
        JSONField(
            "removal",
            "The last removal of the image or its original, as far as the cache remembers it: reason (evicted, expired, "
                + "removed or damaged) and time in seconds since 1970; or null."
        ) { $0.found.removal.map { JSONObject(part: $0, removal) } },
        JSONField(
            "remotes",
            "For each --remote: its name (remote), what it has of the image and of its original (bytes, sha256, expires, "
                + "expired, and object: whether the bytes are there), and problem, or null."
        ) { $0.found.remotes.map { JSONObject(part: $0, holding) } },
    ]

    private static let removal: [JSONField<PastRemoval>] = [
        JSONField("reason", nil) { "\($0.reason)" }, JSONField("time", nil) { $0.time.seconds },
    ]

    private static let holding: [JSONField<RemoteHolding>] = [
        JSONField("remote", nil) { $0.remote },
        JSONField("image", nil) { $0.image.map { JSONObject(part: $0, found) } },
        JSONField("original", nil) { $0.original.map { JSONObject(part: $0, found) } },
        JSONField("problem", nil) { $0.problem },
    ]

    private static let found: [JSONField<RemoteHolding.Found>] = [
        JSONField("bytes", nil) { $0.facts.bytes }, JSONField("sha256", nil) { $0.facts.sha256 },
        JSONField("expires", nil) { $0.expires.seconds },
        JSONField("expired", nil) { $0.isExpired }, JSONField("object", nil) { $0.hasObject },
    ]
}
