import Foundation
import KFCore
import KFImaging
import KFTerms

extension RawImageDataProvider {
    /// Creates a provider of bytes in memory. Without a key, the SHA-256 of the content is the key.
    public init(data: Data, cacheKey: String? = nil) { self.init(data: [UInt8](data), cacheKey: cacheKey) }
}

extension ImageCache {
    /// Stores an image like `store(_:original:forKey:processorIdentifier:cacheSerializer:toDisk:expiration:)`.
    @discardableResult
    public func store(
        _ image: Image, original: Data, forKey key: String, processorIdentifier: String = "",
        cacheSerializer: any CacheSerializer = DefaultCacheSerializer(), toDisk: Bool = true
    ) async -> CacheStoreResult {
        await store(
            image, original: [UInt8](original), forKey: key, processorIdentifier: processorIdentifier,
            cacheSerializer: cacheSerializer, toDisk: toDisk)
    }

    /// Stores bytes like `storeToDisk(_:forKey:processorIdentifier:expiration:)`.
    @discardableResult
    public func storeToDisk(
        _ data: Data, forKey key: String, processorIdentifier: String = "", expiration: StorageExpiration? = nil
    ) async -> CacheStoreResult {
        await storeToDisk(
            [UInt8](data), forKey: key, processorIdentifier: processorIdentifier, expiration: expiration)
    }
}

extension Image {
    /// Decodes an image file. Throws `ImagingError`.
    public init(data: Data, options: DecodeOptions = DecodeOptions()) throws(ImagingError) {
        self = try ImageDecoder.decode([UInt8](data), options: options)
    }
}
