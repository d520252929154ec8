import KFCore

/// `kf cache explain`: explains a cache entry and what the next fetch would do.
struct CacheExplainCommand: Sendable {
    private let common: CommonSettings
    private let settings: RetrievalSettings
    private let sources: [String]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        settings = try RetrievalSettings(arguments)
        sources = try settings.cachedSources(arguments, of: "kf cache explain")
    }

    func run() async -> ExitStatus {
        let manager = KingfisherManager(cache: settings.cacheToRead(common))
        var status = ExitStatus.success
        for source in sources {
            for variant in settings.variants {
                do throws(KingfisherError) {
                    let asked = try SourceArgument.cachedSource(source, key: settings.key)
                    let explanation = try await manager.explain(asked, options: variant.options)
                    if common.json {
                        Terminal.print(JSONObject((source, explanation), Self.fields).json)
                    } else {
                        print(explanation, isLocal: asked.isLocal)
                    }
                } catch {
                    common.report(error, for: SourceArgument.name(source))
                    status.raise(to: error.isCacheFailure ? .cacheFailed : .someFailed)
                }
            }
        }
        return status
    }

    private func print(_ explanation: CacheExplanation, isLocal: Bool) {
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
        Terminal.print("  the next fetch \(Self.text(plan, isLocal: isLocal))")
        Terminal.print("  because \(Terminal.visible(plan.reasons.joined(separator: ", and ")))")
        for condition in plan.conditions {
            Terminal.print("  request header \(condition.name): \(Terminal.visible(condition.value))")
        }
        if plan.canServeStale, plan.step != .stale {
            Terminal.print("  if the origin cannot be reached, the expired image is served")
        }
    }

    private func printEntry(_ entry: CachedEntry) {
        let now = Timestamp.now()
        let facts = entry.facts
        if let status = entry.answerStatus {
            let span = entry.isExpired ? "expired" : "expires \(SpanText.expiry(entry.expires, now: now))"
            Terminal.print("  no image: response \(status), \(span)")
            return
        }
        var parts = [facts.format.rawValue]
        if let width = facts.width, let height = facts.height { parts.append("\(width)x\(height)") }
        parts.append(ByteText.bytes(facts.bytes))
        if entry.layer != nil { parts.append("in a lower layer") }
        parts.append("stored \(SpanText.short(now.since(entry.created))) ago")
        let expiry = SpanText.expiry(entry.expires, now: now)
        parts.append(entry.isExpired ? "expired \(SpanText.short(now.since(entry.expires))) ago" : "expires \(expiry)")
        parts.append("at least \(EntryText.count(Int(entry.hits), "hit"))")
        let title = entry.name.identifier.isEmpty ? "original" : "@\(entry.name.identifier)"
        Terminal.print("  \(Terminal.visible(title)): \(parts.joined(separator: ", "))")
        Terminal.print("    \(Terminal.visible(entry.path))")
        let validators = [("ETag", entry.etag), ("Last-Modified", entry.lastModified)].compactMap { name, value in
            value.map { "\(name) \($0)" }
        }
        if !validators.isEmpty { Terminal.print("    \(Terminal.visible(validators.joined(separator: ", ")))") }
    }

    private static func text(_ plan: RetrievalPlan, isLocal: Bool) -> String {
        switch plan.step {
        case .memory: "is served from memory"
        case .disk: "is served from the disk"
        case .derive: "makes the image from the cached original, without a request"
        case .revalidate: "revalidates the image with the origin"
        case .request: isLocal ? "reads the source" : "downloads the image"
        case .answer: "fails: the server's error is cached [2002]"
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
            "What the next fetch does: memory, disk, derive, revalidate, request, answer (repeat a cached error), stale or "
                + "refuse."
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
    ]
}

extension Source {
    fileprivate var isLocal: Bool {
        if case .provider = self { return true }
        return false
    }
}
