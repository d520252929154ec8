import KFPipeline
import KFStorage
import KFTerms

/// The result of ``ImageCache/push(_:changesNothing:_:)``.
public struct CachePush: Sendable {
    /// The number of images that were uploaded, and their bytes.
    public let uploaded: (entries: Int, bytes: Int64)
    /// The number of images that the remote has already.
    public let present: Int
    /// The number of images that are not shared: they came from no server, belong to a user, are expired without a
    /// validator, or their responses forbid it.
    public let skipped: Int
    /// The number of images that the remote refused, or that could not be sent.
    public let failed: Int
}

extension ImageCache {
    /// Uploads the selected images that the first of ``Configuration/remotes`` lacks, or of which it has an older answer.
    /// ``Configuration/writesToRemote`` must be set. A push that was cut off goes on where it was when it is repeated.
    ///
    /// `body` receives each image that was uploaded, from any thread. With `changesNothing`, the remote is only asked, and
    /// the images that it lacks count as uploaded. Images of hosts that are private by their name or address are not sent to
    /// a remote that is further away. Returns nil when there is no cache or no remote to write to.
    public func push(
        _ selection: CacheSelection = CacheSelection(), changesNothing: Bool = false,
        _ body: @escaping @Sendable (CachedEntry) -> Void = { _ in }
    ) async throws(KingfisherError) -> CachePush? {
        let now = now
        let filter = selection.filter(at: now)
        return try await blocking.run { [self] () throws(KingfisherError) -> CachePush? in
            guard let push = try RemotePush(self, isDryRun: changesNothing), let storage = try storage() else {
                return nil
            }
            do throws(StorageError) {
                let counts = try push.run(filter) { body(CachedEntry($0, path: storage.path(of: $0), now: now)) }
                return CachePush(
                    uploaded: (counts.uploaded, counts.bytes), present: counts.present, skipped: counts.skipped,
                    failed: counts.failed)
            } catch {
                throw KingfisherError(reading: error)
            }
        }
    }
}
