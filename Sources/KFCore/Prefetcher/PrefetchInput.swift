/// Where a prefetcher takes its items from.
protocol PrefetchInput: Sendable {
    /// Some of the items, in their order.
    func next() async -> PrefetchReading
    /// Ends here; who waits for more gets none.
    func close()
    /// The same; gives those that are known and that nobody has taken.
    func abandon() -> [PrefetchItem]
}

/// What an input has to say.
enum PrefetchReading: Sendable {
    case items([PrefetchItem])
    /// A list that cannot be read, or not to its end; the next one may be.
    case broken(KingfisherError)
    case end
}
