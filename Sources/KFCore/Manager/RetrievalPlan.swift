import KFStorage

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
        /// Serve the stale entry.
        case stale
        /// Fail, because the options forbid asking the source.
        case refuse
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
    /// The cached entry of one of `keysOnDisk`.
    struct Candidate: Sendable {
        let entry: Entry
        /// Whether its file exists and is unchanged since it was stored.
        let isWhole: Bool
        /// Whether it is in a lower layer.
        let isBorrowed: Bool
    }

    /// Returns the plan, with the same decisions in the same order as `retrieveImage`. `candidates` correspond to
    /// `keysOnDisk`.
    func plan(_ candidates: [Candidate?], inMemory: Bool, now: Timestamp) -> RetrievalPlan {
        if options.forceRefresh { return .init(.request, "a fetch is forced, whatever is cached") }
        if inMemory, !asksOrigin { return .init(.memory, "the image is in memory") }
        if options.fromMemoryCacheOrRefresh {
            return .init(.request, "the image is not in memory, and the disk cache is not used")
        }
        var reasons: [String] = []
        var stale: Candidate?
        for (index, candidate) in candidates.enumerated() {
            let name = index == 0 ? "the image" : "its original"
            guard let candidate else {
                reasons.append("\(name) is not cached")
                continue
            }
            guard accepts(candidate.entry) else {
                reasons.append("\(name) is cached for a request with other headers")
                continue
            }
            guard candidate.isWhole else {
                reasons.append("the file of \(name) is missing or damaged")
                continue
            }
            if candidate.entry.isExpired(at: now) {
                reasons.append("\(name) has expired")
            } else {
                reasons.append("\(name) is cached and fresh\(candidate.isBorrowed ? " in a lower layer" : "")")
                // The original itself is the image if it already has the requested format.
                let isImage = index == 0 || keepsBytes(of: candidate.entry.format) && cache === originals
                guard asksOrigin else { return RetrievalPlan(isImage ? .disk : .derive, reasons) }
                reasons.append("it must be revalidated")
            }
            if stale == nil { stale = candidate }
        }
        if let refusal = refusal(after: stale?.entry, now: now), !options.onlyFromCache || stale == nil {
            return .init(.answer, reasons + [refusal.message])
        }
        if case .entry(let answer) = answer, !answer.isExpired(at: now) {
            reasons.append(
                "the remembered response \(HeaderLines(answer.freshness).status) does not count for this fetch")
        }
        return plan(stale, reasons, now)
    }

    private func plan(_ stale: Candidate?, _ reasons: [String], _ now: Timestamp) -> RetrievalPlan {
        let canServe = stale.map { mayServeStale($0.entry, now: now) } ?? false
        if options.onlyFromCache {
            return RetrievalPlan(canServe ? .stale : .refuse, reasons + ["only the cache may be used"])
        }
        guard let stale else { return RetrievalPlan(.request, reasons) }
        if stale.isBorrowed {
            return RetrievalPlan(
                .request, reasons + ["an entry of a lower layer is not revalidated"], canServeStale: canServe)
        }
        if servesWhileRevalidating(stale.entry, now: now) {
            return RetrievalPlan(
                .stale, reasons + ["it may be served while it is revalidated"],
                conditions: condition(of: stale.entry)?.headers ?? [], canServeStale: canServe)
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
}

extension RetrievalPlan {
    fileprivate init(_ step: Step, _ reason: String) { self.init(step, [reason]) }

    fileprivate init(
        _ step: Step, _ reasons: [String], conditions: [(name: String, value: String)] = [],
        canServeStale: Bool = false
    ) {
        self.init(step: step, reasons: reasons, conditions: conditions, canServeStale: canServeStale)
    }
}
