import KFImaging
import KFPipeline
import KFRemote
import KFStorage
import KFTerms

/// The plan of the next retrieval of an image, with its reasons.
public struct RetrievalPlan: Sendable {
    /// The first step of a retrieval.
    public enum Step: String, Sendable {
        /// Serve it from memory.
        case memory
        /// Serve it from the disk cache.
        case disk
        /// Make it from the cached original.
        case derive
        /// Revalidate the stale entry with a conditional request.
        case revalidate
        /// Request the whole image from the source.
        case request
        /// Take it from a remote.
        case remote
        /// Report the cached refusal of the server.
        case answer
        /// Leave the image out, as the filter or the server's headers say of what is cached or remembered.
        case leaveOut = "leave_out"
        /// Serve the stale entry.
        case stale
        /// Fail, because the options forbid asking the source.
        case refuse

        /// The step that ends with an error.
        init(failing error: KingfisherError) {
            self = error.isLeftOut ? .leaveOut : error.isRemembered ? .answer : .refuse
        }
    }

    /// The first step.
    public let step: Step
    /// The reasons, as clauses of text.
    public let reasons: [String]
    /// The headers of the conditional request.
    public let conditions: [(name: String, value: String)]
    /// Whether the stale entry will serve if the source is unavailable.
    public let canServeStale: Bool
}

extension Retrieval {
    /// The cached entry of one of the keys of `places`, and whether its file exists and is unchanged since it was stored.
    typealias Candidate = (cached: CachedEntry, isWhole: Bool)

    /// Returns the plan that a decision is, with the reasons for it. `candidates` correspond to the keys of `places`.
    /// `answer` is the remembered response without an image, if there is one.
    func plan(
        _ decision: Decision, _ candidates: [Candidate?], answer: Entry?, now: Timestamp
    ) -> RetrievalPlan {
        var reasons = reasons(candidates, now)
        switch decision {
        case .need: return RetrievalPlan(.request, reasons)
        case .serveFromMemory: return RetrievalPlan(.memory, ["the image is in memory"])
        case .serve: return RetrievalPlan(.disk, reasons)
        case .make: return RetrievalPlan(.derive, reasons)
        case .fail(let error) where error == options.overlayProblem:
            // The retrieval requests an overlay that this look-up only sought in the cache.
            let isRequested = error.isOfCache && !error.isCacheFailure && !options.onlyFromCache
            return RetrievalPlan(isRequested ? .request : .refuse, ["its overlay cannot be had: \(error.message)"])
        case .fail(let error):
            let step = RetrievalPlan.Step(failing: error)
            return RetrievalPlan(step, reasons + [step == .refuse ? "only the cache may be used" : error.messageNow])
        case .serveStale, .ask: break
        }
        if let answer, !answer.isExpired(at: now), !skipsDisk {
            let lines = HeaderLines(answer.freshness)
            let response = lines.isLeftOut ? "what left it out before" : "the remembered response \(lines.status)"
            reasons.append("\(response) does not count for this fetch")
        }
        switch decision {
        case .serveStale(_, renews: false):
            return RetrievalPlan(.stale, reasons + ["only the cache may be used"], canServeStale: true)
        case .serveStale(let stale, renews: true):
            return RetrievalPlan(
                .stale, reasons + ["it may be served while it is revalidated"],
                conditions: condition(of: stale.entry)?.headers ?? [],
                canServeStale: mayServeStale(stale.entry, now: now))
        case .ask(let stale?, _): return plan(asking: stale, reasons, now)
        default: return RetrievalPlan(.request, reasons)
        }
    }

    private var skipsDisk: Bool { options.forceRefresh || options.fromMemoryCacheOrRefresh }

    private func reasons(_ candidates: [Candidate?], _ now: Timestamp) -> [String] {
        if options.forceRefresh { return ["a fetch is forced, whatever is cached"] }
        if options.fromMemoryCacheOrRefresh { return ["the image is not in memory, and the disk cache is not used"] }
        var reasons: [String] = []
        for (index, candidate) in candidates.enumerated() {
            let name = index == 0 ? "the image" : "its original"
            guard let candidate else {
                reasons.append("\(name) is not cached")
                continue
            }
            if !isProven(candidate.cached.entry) {
                reasons.append("the cache does not know \(name) as the right one by bytes that it hashed")
            } else if !accepts(candidate.cached.entry) {
                reasons.append("\(name) is cached for a request with other headers")
            } else if !candidate.isWhole {
                reasons.append("the file of \(name) is missing or damaged")
            } else if candidate.cached.entry.isExpired(at: now) {
                reasons.append("\(name) has expired")
            } else {
                reasons.append("\(name) is cached and fresh\(candidate.cached.layer != nil ? " in a lower layer" : "")")
                guard asksOrigin else { return reasons }
                reasons.append("it must be revalidated")
            }
        }
        return reasons
    }

    private func plan(asking stale: FoundFile, _ reasons: [String], _ now: Timestamp) -> RetrievalPlan {
        let canServe = mayServeStale(stale.entry, now: now) && refusal(of: stale.entry.originalMeasures) == nil
        if stale.isBorrowed {
            return RetrievalPlan(
                .request, reasons + ["an entry of a lower layer is not revalidated"], canServeStale: canServe)
        }
        guard let condition = condition(of: stale.entry) else {
            let hasValidator = stale.entry.etag != nil || stale.entry.lastModified != nil
            let reason = hasValidator ? "it may come from another URL" : "it has no ETag or Last-Modified date"
            return RetrievalPlan(.request, reasons + [reason], canServeStale: canServe)
        }
        let place = condition.place.map { _ in "it came over a redirect, whose target alone gets the conditions" }
        return RetrievalPlan(
            .revalidate, reasons + (place.map { [$0] } ?? []), conditions: condition.headers, canServeStale: canServe)
    }

    /// Returns the plan with the image of a remote in place of the source's.
    func plan(taking entry: RemoteEntry, from remote: String, _ plan: RetrievalPlan) -> RetrievalPlan {
        let refusal = refusal(of: entry.originalMeasures)
        return RetrievalPlan(
            refusal.map(RetrievalPlan.Step.init(failing:)) ?? .remote,
            plan.reasons + ["the remote \(remote) has it"] + (refusal.map { [$0.message] } ?? []),
            canServeStale: plan.canServeStale)
    }

    /// Returns the plan with an expired original of a remote, which the source is asked to confirm.
    func plan(
        importing entry: RemoteEntry, from remote: String, _ plan: RetrievalPlan, now: Timestamp
    ) -> RetrievalPlan {
        let mayServe = mayServeStale(entry, now: now)
        let refusal = mayServe ? refusal(of: entry.originalMeasures) : nil
        let reasons = plan.reasons + ["the remote \(remote) has it, expired"]
        let canServe = mayServe && refusal == nil
        if !options.onlyFromCache { return RetrievalPlan(.revalidate, reasons, canServeStale: canServe) }
        if let refusal { return RetrievalPlan(RetrievalPlan.Step(failing: refusal), reasons + [refusal.message]) }
        return RetrievalPlan(canServe ? .remote : .refuse, reasons, canServeStale: canServe)
    }
}

extension RemoteEntry {
    /// The measures of the original; nil if they are not known.
    fileprivate var originalMeasures: ImageMeasures? {
        if original != nil { return HeaderLines(freshness).measures }
        return ImageMeasures(
            format: ImageFormat(rawValue: format), width: pixels?.width, height: pixels?.height, bytes: size)
    }
}

extension RetrievalPlan {
    fileprivate init(
        _ step: Step, _ reasons: [String], conditions: [(name: String, value: String)] = [],
        canServeStale: Bool = false
    ) {
        self.init(step: step, reasons: reasons, conditions: conditions, canServeStale: canServeStale)
    }
}
