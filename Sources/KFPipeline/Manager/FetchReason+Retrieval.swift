import KFStorage
import KFTerms

extension FetchReason {
    /// Creates the reason that the terms of asking the source give; nil if the caches had no entry that counts.
    init?(_ retrieval: Retrieval, _ asking: Asking) {
        if retrieval.options.forceRefresh {
            self = .forced
        } else if let stale = asking.stale {
            self = asking.condition(retrieval) != nil ? .changed : stale.isFresh ? .forced : .expired
        } else {
            return nil
        }
    }
}

extension Retrieval {
    /// The last removal of the image or of its original, as far as their caches remember it. Blocks.
    package var pastRemoval: PastRemoval? {
        places.flatMap { cache, keys in keys.compactMap { cache.alreadyOpen?.removal(of: $0) } }
            .max { $0.time < $1.time }
    }
}

extension RetrieveImageResult {
    /// The reason why the image was fetched; nil if it was not. Blocks on the disk if the caches did not have it.
    public var fetchReason: FetchReason? {
        guard way == .fetched, let retrieval else { return nil }
        if let reason { return reason }
        // It may have been evicted again since it was stored.
        guard let removal = retrieval.pastRemoval, removal.time <= stored ?? .distantFuture else { return .new }
        return .removed(removal)
    }

    private var stored: Timestamp? {
        switch content {
        case .file(let file): file.entry.created
        case .stored(let stored), .bytes(_, _, let stored?): stored.entry.created
        case .bytes, .memory: nil
        }
    }
}
