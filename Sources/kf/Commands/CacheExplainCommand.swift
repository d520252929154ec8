import KFCore

/// `kf cache explain`: what is cached of an image, and what the next fetch will do.
struct CacheExplainCommand: Sendable {
    private let common: CommonSettings
    private let settings: RetrievalSettings
    private let sources: [String]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        settings = try RetrievalSettings(arguments)
        try settings.checkKey(arguments.operands)
        sources = arguments.operands.isEmpty ? [settings.key].compactMap { $0 } : arguments.operands
        guard !sources.isEmpty else {
            throw UsageError(message: "'kf cache explain' needs a URL, a file or a data: URI")
        }
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
                        Terminal.print(json(explanation, source).line)
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
        if explanation.entries.isEmpty { Terminal.print("  nothing of it is cached") }
        for entry in explanation.entries { printEntry(entry) }
        Terminal.print("  next fetch: \(Self.text(plan, isLocal: isLocal))")
        Terminal.print("  because \(Terminal.visible(plan.reasons.joined(separator: ", and ")))")
        for condition in plan.conditions {
            Terminal.print("  asking with \(condition.name): \(Terminal.visible(condition.value))")
        }
        if plan.canServeStale, plan.step != .stale {
            Terminal.print("  if the source cannot be asked, what has expired will do")
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
        case .memory: "comes from memory"
        case .disk: "comes from the disk"
        case .derive: "makes it from the cached original, without asking the source"
        case .revalidate: "asks the source whether it still is right"
        case .request: isLocal ? "reads the source" : "downloads it"
        case .answer: "fails: the answer of the server is remembered [2002]"
        case .stale: "serves what has expired"
        case .refuse: "fails: not in the cache [3006]"
        }
    }

    private func json(_ explanation: CacheExplanation, _ source: String) -> JSONObject {
        var object = JSONObject()
        object.add("schema", 1)
        object.add("source", RequestURL.withoutUserInfo(source))
        object.add("key", explanation.key)
        object.add("identifier", explanation.identifier)
        object.add("path", explanation.target?.path)
        object.add("next", explanation.plan.step.rawValue)
        object.add("reasons", strings: explanation.plan.reasons)
        var conditions = JSONObject()
        for condition in explanation.plan.conditions { conditions.add(condition.name, condition.value) }
        object.add("conditions", conditions)
        object.add("can_serve_stale", explanation.plan.canServeStale)
        object.add("entries", explanation.entries.map { JSONObject($0) })
        return object
    }
}

extension Source {
    fileprivate var isLocal: Bool {
        if case .provider = self { return true }
        return false
    }
}
