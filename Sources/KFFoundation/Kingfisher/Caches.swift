import Foundation
import KFCore
import KFTerms

// What Kingfisher's caches have and these do not, or under another name.
//
// The compiler refuses every call, so that no body runs: `fatalError` stands where a value would be returned.

extension Notification.Name {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    @available(
        *, unavailable, message: "set ImageCache.Configuration.didClean; it gets the names of the removed entries"
    )
    public static var KingfisherDidCleanDiskCache: Notification.Name { fatalError() }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
@available(*, unavailable, message: "ImageCache.Configuration.didClean gets the names of the removed entries")
public let KingfisherDiskCacheCleanedHashKey = ""

extension ImageCache {
    @available(*, unavailable, message: "await imageCachedType(forKey:processorIdentifier:)")
    public func imageCachedTypeAsync(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil,
        callbackQueue: CallbackQueue = .untouch, completionHandler: @escaping @Sendable (CacheType) -> Void
    ) {}

    @available(*, unavailable, message: "await imageCachedType(forKey:processorIdentifier:)")
    public func imageCachedTypeAsync(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil
    ) async -> CacheType { .none }

    @available(
        *, unavailable,
        message: "await cachePath(forKey:processorIdentifier:), which is nil for an image that is not cached"
    )
    public func cachePath(forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil)
        -> String
    { "" }

    @available(
        *, unavailable,
        message: "await cachePath(forKey:processorIdentifier:), which is nil for an image that is not cached"
    )
    public func cacheFileURL(forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil)
        -> URL
    { fatalError() }

    @available(*, unavailable, message: "await cachePath(forKey:processorIdentifier:)")
    public func cacheFileURLIfOnDisk(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil
    ) -> URL? { nil }

    @available(*, unavailable, renamed: "cleanExpiredDiskCache(completion:)")
    public func backgroundCleanExpiredDiskCache() {}

    @available(
        *, unavailable, message: "use store(_:original:forKey:processorIdentifier:cacheSerializer:toDisk:)"
    )
    public func store(
        _ image: Image, original: Data? = nil, forKey key: String, options: KingfisherOptions, toDisk: Bool = true,
        completionHandler: (@Sendable (CacheStoreResult) -> Void)? = nil
    ) {}

    @available(
        *, unavailable,
        message: "use ImageCache(_:) with a Configuration; its limits and expirations are those of both storages"
    )
    public convenience init(memoryStorage: Any, diskStorage: Any) { fatalError() }

    @available(
        *, unavailable, message: "use ImageCache(.init(directory: path)) with the path that the closure returned"
    )
    public convenience init(
        name: String, cacheDirectoryURL: URL?, diskCachePathClosure: @Sendable (URL, String) -> URL
    ) throws { fatalError() }
}

extension MemoryStorageConfig {
    @available(*, unavailable, message: "a server has no background; images stay until they expire or are evicted")
    public var keepWhenEnteringBackground: Bool {
        get { fatalError() }
        set {}
    }
}

extension DiskStorageConfig {
    @available(*, unavailable, message: "the extension of a cached file follows from its content")
    public var pathExtension: String? {
        get { fatalError() }
        set {}
    }

    @available(*, unavailable, message: "files are named by the SHA-256 of their content")
    public var usesHashedFileName: Bool {
        get { fatalError() }
        set {}
    }

    @available(*, unavailable, message: "the extension of a cached file follows from its content")
    public var autoExtAfterHashedFileName: Bool {
        get { fatalError() }
        set {}
    }

    @available(*, unavailable, message: "ImageCache.Configuration names the directory")
    public var directory: URL? {
        get { fatalError() }
        set {}
    }

    @available(*, unavailable, message: "ImageCache.Configuration names the directory")
    public var cachePathBlock: ((URL, String) -> URL)? {
        get { fatalError() }
        set {}
    }
}

/// Kingfisher's names of the memory part of a cache.
public enum MemoryStorage {
    @available(*, unavailable, renamed: "ImageCache.MemoryPart")
    public typealias Backend = Never
    @available(*, unavailable, renamed: "MemoryStorageConfig")
    public typealias Config = MemoryStorageConfig
}

/// Kingfisher's names of the disk part of a cache.
public enum DiskStorage {
    @available(*, unavailable, renamed: "ImageCache.DiskPart")
    public typealias Backend = Never
    @available(*, unavailable, renamed: "DiskStorageConfig")
    public typealias Config = DiskStorageConfig
}

@available(*, unavailable, message: "a cache holds images; Image.cost is the cost of one")
public protocol CacheCostCalculable {}

@available(*, unavailable, message: "a CacheSerializer converts between an image and its bytes")
public protocol DataTransformable {}
