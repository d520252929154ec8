import KFImaging

/// The result of a cache lookup by key. Kingfisher's `ImageCacheResult`.
public enum ImageCacheResult: Sendable {
    /// The image came from the disk.
    case disk(Image)
    /// The image was in memory.
    case memory(Image)
    /// The image is not cached, or no longer fresh.
    case none

    /// The image; nil when there is none.
    public var image: Image? {
        switch self {
        case .disk(let image), .memory(let image): image
        case .none: nil
        }
    }

    /// The cache that held the image.
    public var cacheType: CacheType {
        switch self {
        case .disk: .disk
        case .memory: .memory
        case .none: .none
        }
    }
}

/// The cache that holds an image, or that it came from.
public enum CacheType: String, Sendable {
    /// Not cached, or no longer fresh.
    case none
    /// Cached in memory, and perhaps also on the disk.
    case memory
    /// Cached on the disk only.
    case disk

    /// Whether the image is in a cache.
    public var cached: Bool { self != .none }
}
