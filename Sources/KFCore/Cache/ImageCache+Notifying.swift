import KFStorage

extension ImageCache {
    /// Runs what removes entries of the disk, and tells `didClean` what went, once, when it is done. `each` is told of every
    /// entry. Where nobody listens, no names are looked up.
    func tellingCleaned<Failure: Error>(
        _ each: ((EntryName) -> Void)? = nil, _ body: (((EntryName) -> Void)?) throws(Failure) -> Removal
    ) throws(Failure) -> Removal {
        guard let didClean = configuration.didClean else { return try body(each) }
        var cleaning = CacheCleaning()
        cleaning.removal = try body { name in
            cleaning.add(name)
            each?(name)
        }
        if cleaning.removal.entries > 0 { didClean(cleaning) }
        return cleaning.removal
    }

    /// In milliseconds.
    private static let noticeInterval: Int64 = 60_000

    /// Tells of an image that has been given out and could not be stored.
    func tellFailedStore(_ key: EntryKey, _ error: KingfisherError) {
        configuration.didFailToStore?(CacheStoreFailure(name: EntryName(key), error: error))
        let now = now
        let isNew = toldFailures.withLock { told in
            if let last = told[error.errorCode], (0..<Self.noticeInterval).contains(now.since(last)) { return false }
            told[error.errorCode] = now
            return true
        }
        if isNew { configuration.notice("an image that was given out \(error.message)") }
    }
}
