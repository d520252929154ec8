/// Some items of the lists, and what the cache has of them.
struct PrefetchBlock: Sendable {
    var ended: [PrefetchOutcome] = []
    var missing: [PrefetchWish] = []
    /// A list that cannot be read, or not to its end.
    var broken: KingfisherError?
    var isLast = false
}

/// An item that is to be brought.
struct PrefetchWish: Sendable {
    private(set) var item: PrefetchItem
    /// Of each of its forms; empty when nobody has looked for it.
    var retrievals: [Retrieval] = []
    /// The cache has been asked for its only form, and has nothing that could serve.
    var isKnownMissing = false

    init(item: PrefetchItem) { self.item = item }

    /// See `PrefetchItem.detach`.
    mutating func detach() { item.detach() }
}
