/// Some items of the lists, and what the cache has of them.
struct PrefetchBlock: Sendable {
    var ended: [PrefetchOutcome] = []
    var missing: [PrefetchItem] = []
    /// A list that cannot be read, or not to its end.
    var broken: KingfisherError?
    var isLast = false
}
