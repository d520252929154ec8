import KFImaging

/// The result of a look-up in a cache by key. Kingfisher's `ImageCacheResult`.
public enum ImageCacheResult: Sendable {
    /// It came from the disk.
    case disk(Image)
    /// It was in memory.
    case memory(Image)
    /// It is not there, or no longer fresh.
    case none

    /// The image; nil when there is none.
    public var image: Image? {
        switch self {
        case .disk(let image), .memory(let image): image
        case .none: nil
        }
    }

    /// Where it was.
    public var cacheType: CacheType {
        switch self {
        case .disk: .disk
        case .memory: .memory
        case .none: .none
        }
    }
}
