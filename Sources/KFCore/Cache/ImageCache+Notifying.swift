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
}
