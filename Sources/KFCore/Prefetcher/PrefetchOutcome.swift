/// How one item ended.
public struct PrefetchOutcome: Sendable {
    /// How an item can end.
    public enum Ending: Sendable {
        /// It was in the cache already, in each of its forms.
        case skipped([StoredFile])
        /// It was retrieved: a result for each of its forms, in the order of the options.
        case retrieved([PrefetchResult])
        /// There was nothing to retrieve.
        case failed(KingfisherError)
    }

    /// The item.
    public let item: PrefetchItem
    /// How it ended.
    public let ending: Ending
    /// Requests made, repetitions included.
    public var attempts = 0

    /// The first that went wrong.
    public var error: KingfisherError? {
        switch ending {
        case .skipped: return nil
        case .failed(let error): return error
        case .retrieved(let results):
            for result in results {
                if let error = result.error { return error }
            }
            return nil
        }
    }
}

/// One of the forms of an item.
public struct PrefetchResult: Sendable {
    /// What was retrieved, or why it was not.
    public let image: Result<RetrieveImageResult, KingfisherError>
    /// The copy that was written of it, if one was to be.
    public var output: String?
    /// What went wrong after it had come.
    var problem: KingfisherError?

    init(_ image: Result<RetrieveImageResult, KingfisherError>) {
        self.image = image
        // What could be fetched and not stored is no use to who wants a warm cache.
        if case .success(let result) = image { problem = result.storing.diskError }
    }

    /// Why it was not retrieved, not stored, or not copied; nil when all is well.
    public var error: KingfisherError? {
        if case .failure(let error) = image { return error }
        return problem
    }
}
