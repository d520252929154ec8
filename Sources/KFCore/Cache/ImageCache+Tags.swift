import KFPipeline
import KFStorage
import KFTerms

extension ImageCache {
    /// Adds tags to entries on the disk, to list or remove them together. An entry keeps its tags until it is removed,
    /// also when newer bytes replace it. Names without an entry are left out, and entries that have the tags already
    /// cost no write.
    ///
    /// The first tag of a cache changes the format of its index, which programs that know no tags then refuse.
    public func tag(_ names: [EntryName], _ tags: Set<String>) async throws(KingfisherError) {
        try await blocking.run { [self] () throws(KingfisherError) in try tagNow(names, tags) }
    }

    /// Returns the tags with the number of their entries and the bytes of their files, in the order of names. A file counts
    /// once, however many entries share it.
    public func tags() async throws(KingfisherError) -> [CacheShare] {
        try await onDisk(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            try storage.tags()
        } ?? []
    }

    /// Adds tags on the calling thread, to the originals of processed images as well if `andOriginals` is set. Blocks.
    package func tagNow(
        _ names: some Sequence<EntryName>, andOriginals: Bool = false, _ tags: Set<String>
    ) throws(KingfisherError) {
        let keys = names.flatMap { name in
            let key = EntryKey(key: name.key, identifier: name.identifier)
            return andOriginals && !key.isOriginal ? [key, key.original] : [key]
        }
        _ = try withStorage(failing: KingfisherError.init(writing:)) { storage throws(StorageError) in
            try storage.tag(keys, tags)
        }
    }

    /// Returns the entries of each file whose SHA-256 begins with these lower-case hexadecimal digits, at least 8 of
    /// them. Scans the index.
    public func entries(sha256Prefix digits: String) async throws(KingfisherError) -> [[CachedEntry]] {
        let now = now
        return try await onDisk(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            try storage.entries(hashPrefix: digits).map { entries in
                entries.map { CachedEntry($0, path: storage.path(of: $0), now: now) }
            }
        } ?? []
    }

    /// Returns the SHA-256 of a file's bytes: 64 hexadecimal digits.
    public static func sha256(ofFile path: String) throws(KingfisherError) -> String {
        do { return try DiskStorage.sha256(ofFile: path) } catch {
            throw .sourceError(reason: .dataProviderError(detail: error.message))
        }
    }
}
