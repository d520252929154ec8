import KFStorage

extension ImageCache {
    /// The memory part of a cache. Kingfisher's `MemoryStorage.Backend`.
    public struct MemoryPart: Sendable {
        fileprivate let cache: ImageCache

        /// Limits and times. What exceeds a new limit goes at once; a new expiration is for what is stored from then on.
        public var config: MemoryStorageConfig {
            get { cache.memory.configuration }
            nonmutating set { cache.memory.configuration = newValue }
        }
    }

    /// The disk part of a cache. Kingfisher's `DiskStorage.Backend`.
    public struct DiskPart: Sendable {
        fileprivate let cache: ImageCache

        /// Limit and time. What exceeds a new limit goes soon; a new expiration is for what is stored from then on.
        public var config: DiskStorageConfig {
            get { cache.diskConfig }
            nonmutating set { cache.diskConfig = newValue }
        }
    }

    /// The memory part, whose configuration can be changed at any time.
    public var memoryStorage: MemoryPart { MemoryPart(cache: self) }
    /// The disk part, whose configuration can be changed at any time.
    public var diskStorage: DiskPart { DiskPart(cache: self) }
}
