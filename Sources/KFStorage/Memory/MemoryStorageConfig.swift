/// What a memory cache may hold, and for how long. Kingfisher's `MemoryStorage.Config`.
public struct MemoryStorageConfig: Sendable, Equatable {
    /// In bytes: the sum of the costs of what is kept. What costs more than this alone is not kept.
    public var totalCostLimit: Int
    /// How many images are kept.
    public var countLimit: Int
    /// How long an image counts as fresh when its store does not say.
    public var expiration: StorageExpiration
    /// The time between two sweeps that free what has expired; at least a millisecond.
    public var cleanInterval: Duration

    /// No limit of the count, 300 s, and a sweep every 120 s.
    public init(
        totalCostLimit: Int, countLimit: Int = .max, expiration: StorageExpiration = .seconds(300),
        cleanInterval: Duration = .seconds(120)
    ) {
        self.totalCostLimit = totalCostLimit
        self.countLimit = countLimit
        self.expiration = expiration
        self.cleanInterval = cleanInterval
    }
}
