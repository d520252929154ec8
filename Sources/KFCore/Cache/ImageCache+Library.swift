import KFImaging
import KFPipeline
import KFStorage
import KFSystem
import KFTerms

extension ImageCache {
    /// Stores an image under a key in memory and, unless `toDisk` is false or `expiration` has already passed, on the
    /// disk. The serializer produces the bytes for the disk.
    ///
    /// `original` holds the bytes that the image was decoded from. They are written unchanged when no processor is
    /// named and the serializer keeps their format. Otherwise the serializer receives their format and decides which
    /// one to write.
    ///
    /// Without an `expiration`, the cache's own applies (7 days).
    @discardableResult
    public func store(
        _ image: Image, original: [UInt8]? = nil, forKey key: String, processorIdentifier identifier: String = "",
        cacheSerializer: any CacheSerializer = DefaultCacheSerializer(), toDisk: Bool = true,
        expiration: StorageExpiration? = nil
    ) async -> CacheStoreResult {
        let key = EntryKey(key: key, identifier: identifier)
        let encoding = await WorkerPool.processing.run {
            () -> Result<(bytes: [UInt8], format: ImageFormat), KingfisherError> in
            do throws(ImagingError) {
                let isProcessed = identifier != cacheSerializer.identifier && !identifier.isEmpty
                return .success(try Self.encode(image, original, isProcessed: isProcessed, cacheSerializer))
            } catch {
                return .failure(.cacheError(reason: .cannotSerializeImage(detail: error.message)))
            }
        }
        let pixels = PixelFacts(width: image.width, height: image.height, frames: image.frames.count)
        var (bytes, format): ([UInt8]?, ImageFormat) = (nil, .png)
        var result = CacheStoreResult()
        switch encoding {
        case .success(let encoded): (bytes, format) = (encoded.bytes, encoded.format)
        case .failure(let error): if toDisk { result.disk = .failed(error) }
        }
        let facts = ImageFacts(format: format, pixels, bytes: Int64(bytes?.count ?? 0), digest: nil)
        storeInMemory(CachedImage(bytes: bytes, image: image, facts: facts, path: nil), key, expiration: nil)
        result.memory = .stored
        if toDisk, let bytes { result.disk = await store(bytes, key, format, pixels, expiration) }
        return result
    }

    /// Encodes an image. Without an original, an animation becomes a GIF, and a still image gets the serializer's
    /// default format.
    private static func encode(
        _ image: Image, _ original: [UInt8]?, isProcessed: Bool, _ serializer: any CacheSerializer
    ) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat) {
        guard let original, case .image(let format) = original.withUnsafeBytes(ContentKind.sniff) else {
            return try serializer.data(for: image, original: image.frames.count > 1 ? .gif : nil)
        }
        if !isProcessed, serializer.keeps(format) { return (original, format) }
        return try serializer.data(for: image, original: format)
    }

    /// Returns the cache that holds a fresh image. Does not extend its expiry.
    public func imageCachedType(
        forKey key: String, processorIdentifier identifier: String = ""
    ) async throws(KingfisherError) -> CacheType {
        if memory.isCached(EntryKey(key: key, identifier: identifier)) { return .memory }
        return try await isCached(forKey: key, processorIdentifier: identifier) ? .disk : .none
    }

    /// Returns the cache that holds a fresh image, on the calling thread. Blocks on the disk.
    package func imageCachedTypeNow(
        forKey key: String, processorIdentifier identifier: String
    ) throws(KingfisherError) -> CacheType {
        let key = EntryKey(key: key, identifier: identifier)
        if memory.isCached(key) { return .memory }
        return try isOnDisk(key) ? .disk : .none
    }

    /// Removes all images from memory.
    public func clearMemoryCache() { memory.removeAll() }
}

extension ImageCache {
    /// The memory part of a cache. Kingfisher's `MemoryStorage.Backend`.
    public struct MemoryPart: Sendable {
        fileprivate let cache: ImageCache

        /// The limits and the expiration. Images over a new limit are evicted at once. A new expiration applies to
        /// later stores.
        public var config: MemoryStorageConfig {
            get { cache.memory.configuration }
            nonmutating set { cache.memory.configuration = newValue }
        }
    }

    /// The disk part of a cache. Kingfisher's `DiskStorage.Backend`.
    public struct DiskPart: Sendable {
        fileprivate let cache: ImageCache

        /// The size limit and the expiration. Images over a new limit are evicted soon after. A new expiration applies
        /// to later stores.
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
