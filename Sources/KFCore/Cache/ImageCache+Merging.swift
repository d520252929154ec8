import KFPipeline
import KFStorage
import KFTerms

/// The result of ``ImageCache/merge(from:changesNothing:_:)``.
public struct CacheMerge: Sendable {
    /// The number of entries that were taken, and the bytes of their images.
    public let taken: (entries: Int, bytes: Int64)
    /// The number of entries of which the cache has one of the same age or a newer one.
    public let kept: Int
    /// The number of entries that were left out, since their file is missing or has other bytes.
    public let damaged: Int
    /// The number of entries that were left out, since their image is larger than the limit of the whole cache.
    public let tooLarge: Int
}

extension ImageCache {
    /// Takes the images of the cache in another directory, with their times, hits and tags. Of two entries of one key the
    /// newer one counts, and equal bytes are one file. Every file is hashed. Other processes may use both caches meanwhile.
    ///
    /// `body` receives each entry that is taken, on one of the cache's threads. With `changesNothing`, nothing is written,
    /// and no file is read. Throws when there is no cache in the directory, when it is this one, and the errors of stores;
    /// what was taken before an error stays. On a full disk, the images that fit are taken before it throws.
    public func merge(
        from directory: String, changesNothing: Bool = false,
        _ body: @escaping @Sendable (CachedEntry) -> Void = { _ in }
    ) async throws(KingfisherError) -> CacheMerge {
        let now = now
        return try await blocking.run { [self] () throws(KingfisherError) in
            let (other, own) = try open(directory)
            defer { other.close() }
            if !changesNothing, let problem = try diskProblemNow() { throw problem }
            var merger = CacheMerger(
                from: other, into: own, sizeLimit: diskConfig.sizeLimit, changesNothing: changesNothing
            ) {
                body(CachedEntry($0, path: other.path(of: $0), now: now))
            }
            do throws(StorageError) { try merger.run() } catch { throw KingfisherError(writing: error) }
            return CacheMerge(
                taken: (merger.taken, merger.bytes), kept: merger.kept, damaged: merger.damaged,
                tooLarge: merger.tooLarge)
        }
    }

    /// Calls `body` with each image of which this cache and the one in another directory do not have the same: with the
    /// entries there and here, as far as it has them. Reads no files. Throws what `merge` throws before its first store.
    package func compare(
        with directory: String, _ body: @escaping @Sendable (_ there: CachedEntry?, _ here: CachedEntry?) -> Void
    ) async throws(KingfisherError) {
        let now = now
        try await blocking.run { [self] () throws(KingfisherError) in
            let (other, own) = try open(directory)
            defer { other.close() }
            let merger = CacheMerger(from: other, into: own, sizeLimit: 0, changesNothing: true) { _ in }
            do throws(StorageError) {
                try merger.compare { there, here in
                    body(
                        there.map { CachedEntry($0, path: other.path(of: $0), now: now) },
                        here.flatMap { entry in own.map { CachedEntry(entry, path: $0.path(of: entry), now: now) } })
                }
            } catch {
                throw KingfisherError(reading: error)
            }
        }
    }

    /// Opens the cache in another directory for reading. Blocks.
    private func open(_ directory: String) throws(KingfisherError) -> (other: DiskStorage, own: DiskStorage?) {
        let other: DiskStorage
        do throws(StorageError) {
            other = try DiskStorage(configuration.storage(readingFrom: directory, patience))
        } catch {
            throw KingfisherError(opening: error)
        }
        let own = try storage()
        if own?.path == other.path {
            other.close()
            throw .cacheError(reason: .diskStorageIsNotReady(detail: "\(directory) is this cache"))
        }
        return (other, own)
    }
}
