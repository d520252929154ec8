import KFStorage

/// The reason why an image was fetched, although there is a cache.
public enum FetchReason: Sendable, Equatable {
    /// The cache had no such image, as far as it remembers.
    case new
    /// The cache had it and removed it.
    case removed(PastRemoval)
    /// Its time to live was over.
    case expired
    /// Its server was asked whether it is current, and sent another one.
    case changed
    /// The options demand it.
    case forced

    /// The removal of the image; nil unless that is the reason.
    public var removal: PastRemoval? {
        if case .removed(let removal) = self { return removal }
        return nil
    }

    /// The reason in one word: `new`, `expired`, `changed`, `forced`, `evicted`, `removed` or `damaged`. An image that was
    /// removed because it had expired is `expired` too.
    public var word: String {
        switch self {
        case .new: "new"
        case .removed(let removal): "\(removal.reason)"
        case .expired: "expired"
        case .changed: "changed"
        case .forced: "forced"
        }
    }
}
