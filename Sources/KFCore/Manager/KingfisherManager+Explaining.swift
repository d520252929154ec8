import KFStorage

/// What the cache has of a source, and what the next retrieval will do.
public struct CacheExplanation: Sendable {
    /// What the image is kept under.
    public let key: String
    /// Of what is to be done to it; empty for an original.
    public let identifier: String
    /// The image as it is wanted; it may have expired.
    public let target: CachedEntry?
    /// Its file can be read and is what was stored.
    public let isTargetWhole: Bool
    /// The original and everything made from it, expired or not; first the cache's own, then the lower layers'.
    public let entries: [CachedEntry]
    /// What the next retrieval will do.
    public let plan: RetrievalPlan
}

extension KingfisherManager {
    /// Says what `retrieveImage` would do, without doing it: nothing is fetched, touched or counted. A modifier without an
    /// identity runs.
    public func explain(
        _ source: Source, options: KingfisherOptions = KingfisherOptions()
    ) async throws(KingfisherError) -> CacheExplanation {
        let asked = Retrieval(source, try await prepared(options, for: source), cache)
        let entries = try await cache.entriesOfAllLayers(forKey: asked.target.key)
        let retrieval = asked.selecting(among: entries.map(\.entry))
        let candidates = try await cache.blocking.run { [cache] () throws(KingfisherError) in
            try retrieval.keysOnDisk.map { key throws(KingfisherError) in
                try Self.best(of: entries.filter { $0.entry.key == key }, for: retrieval, cache)
            }
        }
        let plan = retrieval.plan(
            candidates.map { $0?.candidate }, inMemory: cache.memory.isCached(retrieval.target), now: cache.now)
        return CacheExplanation(
            key: retrieval.target.key, identifier: retrieval.target.identifier, target: candidates[0]?.cached,
            isTargetWhole: candidates[0]?.candidate.isWhole ?? false, entries: entries, plan: plan)
    }

    private typealias Choice = (cached: CachedEntry, candidate: Retrieval.Candidate)

    /// The one of the layers that a look-up takes: the first that is fresh, else the first that can be used at all.
    private static func best(
        of entries: [CachedEntry], for retrieval: Retrieval, _ cache: ImageCache
    ) throws(KingfisherError) -> Choice? {
        var choices: [Choice] = []
        for cached in entries {
            let candidate = Retrieval.Candidate(
                entry: cached.entry, isWhole: try cache.isWhole(cached), isBorrowed: cached.layer != nil)
            choices.append((cached, candidate))
        }
        let usable = choices.filter { $0.candidate.isWhole && retrieval.accepts($0.cached.entry) }
        return usable.first { !$0.cached.isExpired } ?? usable.first ?? choices.first
    }
}
