import KFStorage

/// What the cache has of a source, and what the next retrieval will do.
public struct CacheExplanation: Sendable {
    /// What the image is kept under.
    public let key: String
    /// Of what is to be done to it; empty for an original.
    public let identifier: String
    /// The image as it is wanted; it may have expired.
    public let target: CachedEntry?
    /// The original and everything made from it, expired or not.
    public let entries: [CachedEntry]
    /// What the next retrieval will do.
    public let plan: RetrievalPlan
}

extension KingfisherManager {
    /// Says what `retrieveImage` would do, without doing it: nothing is fetched, touched or counted.
    public func explain(
        _ source: Source, options: KingfisherOptions = KingfisherOptions()
    ) async throws(KingfisherError) -> CacheExplanation {
        let retrieval = Retrieval(source, options, cache)
        let entries = try await cache.entries(forKey: retrieval.target.key)
        let candidates = try await cache.blocking.run { [cache] () throws(KingfisherError) in
            try retrieval.keysOnDisk.map { key throws(KingfisherError) in
                try entries.first { $0.entry.key == key }.map { found throws(KingfisherError) in
                    Retrieval.Candidate(entry: found.entry, isWhole: try cache.isWhole(found.entry))
                }
            }
        }
        let plan = retrieval.plan(
            candidates, inMemory: cache.memory.isCached(retrieval.target), now: cache.now)
        return CacheExplanation(
            key: retrieval.target.key, identifier: retrieval.target.identifier,
            target: entries.first { $0.entry.key == retrieval.target }, entries: entries, plan: plan)
    }
}
