import KFPipeline
import KFStorage
import KFTerms

extension ImageCache {
    /// Uploads the selected images that the first of ``Configuration/remotes`` lacks, or of which it has an older answer, or
    /// an expired one where the image is fresh here.
    /// ``Configuration/writesToRemote`` must be set. A push that was cut off goes on where it was when it is repeated.
    ///
    /// `body` receives each image with its outcome, from any thread. With `changesNothing`, the remote is only asked, and
    /// the images that it lacks count as uploaded. Images of hosts that are private by their name or address are not sent to
    /// a remote that is further away. Returns nil when there is no cache or no remote to write to.
    public func push(
        _ selection: CacheSelection = CacheSelection(), changesNothing: Bool = false,
        _ body: @escaping @Sendable (CachedEntry, CachePush.Outcome) -> Void = { _, _ in }
    ) async throws(KingfisherError) -> CachePush? {
        let now = now
        let filter = selection.filter(at: now)
        return try await blocking.run { [self] () throws(KingfisherError) -> CachePush? in
            guard let push = try RemotePush(self, isDryRun: changesNothing), let storage = try storage() else {
                return nil
            }
            do throws(StorageError) {
                return try push.run(filter) { entry, outcome in
                    body(CachedEntry(entry, path: storage.path(of: entry), now: now), outcome)
                }
            } catch {
                throw KingfisherError(reading: error)
            }
        }
    }
}
