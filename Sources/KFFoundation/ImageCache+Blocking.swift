import KFCore

/// Kingfisher's calls that answer on the calling thread. In a task, the functions of the same names are awaited.
extension ImageCache {
    /// Returns whether a fresh image is cached, as the `async` function does; false if the cache cannot be read. Blocks on
    /// the disk.
    public func isCached(forKey key: String, processorIdentifier: String = "") -> Bool {
        imageCachedType(forKey: key, processorIdentifier: processorIdentifier).cached
    }

    /// Returns the cache that holds a fresh image, as the `async` function does; none if the cache cannot be read. Blocks
    /// on the disk.
    public func imageCachedType(forKey key: String, processorIdentifier: String = "") -> CacheType {
        do throws(KingfisherError) {
            return try imageCachedTypeNow(forKey: key, processorIdentifier: processorIdentifier)
        } catch {
            return .none
        }
    }
}
