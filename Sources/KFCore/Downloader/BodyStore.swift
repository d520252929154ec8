import KFStorage

/// Where a body may be written while it comes: the cache, and the key that it is for.
struct BodyStore: Sendable {
    let cache: ImageCache
    let key: EntryKey

    /// A file for a body; one that can be resumed where `facts` say how. Nil when nothing can be stored. Blocks.
    func begin(_ facts: PartialFacts?) throws(StorageError) -> StagedObject? {
        guard let facts else { return try cache.stage() }
        return try cache.beginPartial(for: key, facts)
    }

    /// Whether a body of so many bytes cannot be stored, because it alone exceeds the cache's limit.
    func isTooLarge(_ size: Int64) -> Bool {
        let limit = cache.diskConfig.sizeLimit
        return limit > 0 && size > limit
    }

    /// After so many bytes of a growing body, the cache is asked to keep to its limit.
    var step: Int64 {
        let limit = cache.diskConfig.sizeLimit
        return limit > 0 ? min(16 << 20, max(1 << 20, limit / 8)) : .max
    }

    /// What an earlier transfer of the same request has left. Blocks.
    func take(_ request: Digest) throws(StorageError) -> (object: StagedObject, facts: PartialFacts)? {
        try cache.takePartial(for: key, request: request)
    }
}
