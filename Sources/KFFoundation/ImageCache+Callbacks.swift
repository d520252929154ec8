import Foundation
import KFCore
import KFTerms

/// Kingfisher's calls with completion handlers. Each handler is called exactly once. The queue is
/// ``CallbackQueue/untouch`` unless one is given, because a server does not run the main queue.
extension ImageCache {
    /// Returns the image of a key like `retrieveImage(forKey:options:)`, in a handler.
    public func retrieveImage(
        forKey key: String, options: KingfisherOptionsInfo? = nil, callbackQueue: CallbackQueue = .untouch,
        completionHandler: @escaping @Sendable (Result<ImageCacheResult, KingfisherError>) -> Void
    ) {
        callBack(on: callbackQueue, completionHandler) { () async throws(KingfisherError) in
            try await self.retrieveImage(forKey: key, options: options)
        }
    }

    /// Returns the image of a key like `retrieveImageInDiskCache(forKey:options:)`, in a handler.
    public func retrieveImageInDiskCache(
        forKey key: String, options: KingfisherOptionsInfo? = nil, callbackQueue: CallbackQueue = .untouch,
        completionHandler: @escaping @Sendable (Result<Image?, KingfisherError>) -> Void
    ) {
        callBack(on: callbackQueue, completionHandler) { () async throws(KingfisherError) in
            try await self.retrieveImageInDiskCache(forKey: key, options: options)
        }
    }

    /// Stores an image like `store(_:original:forKey:processorIdentifier:cacheSerializer:toDisk:expiration:)`, without
    /// waiting for it.
    public func store(
        _ image: Image, original: Data? = nil, forKey key: String, processorIdentifier: String = "",
        cacheSerializer: any CacheSerializer = DefaultCacheSerializer(), toDisk: Bool = true,
        callbackQueue: CallbackQueue = .untouch, completionHandler: (@Sendable (CacheStoreResult) -> Void)? = nil
    ) {
        callBack(on: callbackQueue, completionHandler) {
            await self.store(
                image, original: original.map { [UInt8]($0) }, forKey: key, processorIdentifier: processorIdentifier,
                cacheSerializer: cacheSerializer, toDisk: toDisk)
        }
    }

    /// Stores bytes like `storeToDisk(_:forKey:processorIdentifier:expiration:)`, without waiting for it.
    public func storeToDisk(
        _ data: Data, forKey key: String, processorIdentifier: String = "", expiration: StorageExpiration? = nil,
        callbackQueue: CallbackQueue = .untouch, completionHandler: (@Sendable (CacheStoreResult) -> Void)? = nil
    ) {
        callBack(on: callbackQueue, completionHandler) {
            await self.storeToDisk(
                data, forKey: key, processorIdentifier: processorIdentifier, expiration: expiration)
        }
    }

    /// Removes an image like `removeImage(forKey:processorIdentifier:fromMemory:fromDisk:dryRun:each:)`, without waiting
    /// for it. The handler is called after a failure, too.
    public func removeImage(
        forKey key: String, processorIdentifier: String? = nil, fromMemory: Bool = true, fromDisk: Bool = true,
        callbackQueue: CallbackQueue = .untouch, completionHandler: (@Sendable () -> Void)? = nil
    ) {
        callBack(on: callbackQueue, completionHandler) { () async throws(KingfisherError) in
            try await self.removeImage(
                forKey: key, processorIdentifier: processorIdentifier, fromMemory: fromMemory, fromDisk: fromDisk)
        }
    }

    /// Removes everything in memory and on the disk, without waiting for it. The handler is called after a failure, too.
    public func clearCache(completion handler: (@Sendable () -> Void)? = nil) {
        clearMemoryCache()
        callBack(on: .untouch, handler) { () async throws(KingfisherError) in try await self.clearCache() }
    }

    /// Removes everything on the disk, without waiting for it. The handler is called after a failure, too.
    public func clearDiskCache(completion handler: (@Sendable () -> Void)? = nil) {
        callBack(on: .untouch, handler) { () async throws(KingfisherError) in try await self.clearDiskCache() }
    }

    /// Removes expired images in memory and on the disk, without waiting for it. The handler is called after a failure,
    /// too.
    public func cleanExpiredCache(completion handler: (@Sendable () -> Void)? = nil) {
        callBack(on: .untouch, handler) { () async throws(KingfisherError) in try await self.cleanExpiredCache() }
    }

    /// Removes expired images on the disk, without waiting for it. The handler is called after a failure, too.
    public func cleanExpiredDiskCache(completion handler: (@Sendable () -> Void)? = nil) {
        callBack(on: .untouch, handler) { () async throws(KingfisherError) in try await self.cleanExpiredDiskCache() }
    }

    /// Passes ``diskStorageSize``, the bytes of all files on the disk, to a handler.
    public func calculateDiskStorageSize(
        completion handler: @escaping @Sendable (Result<UInt, KingfisherError>) -> Void
    ) {
        callBack(on: .untouch, handler) { () async throws(KingfisherError) in
            UInt(clamping: try await self.diskStorageSize)
        }
    }

    private func callBack<Value: Sendable>(
        on queue: CallbackQueue, _ handler: @escaping @Sendable (Result<Value, KingfisherError>) -> Void,
        _ work: @escaping @Sendable () async throws(KingfisherError) -> Value
    ) {
        _ = DownloadTask(callingBackOn: queue, handler, work)
    }

    private func callBack(
        on queue: CallbackQueue, _ handler: (@Sendable (CacheStoreResult) -> Void)?,
        _ work: @escaping @Sendable () async -> CacheStoreResult
    ) {
        Task {
            let result = await work()
            if let handler { queue.execute { handler(result) } }
        }
    }

    private func callBack<Value: Sendable>(
        on queue: CallbackQueue, _ handler: (@Sendable () -> Void)?,
        _ work: @escaping @Sendable () async throws(KingfisherError) -> Value
    ) {
        _ = DownloadTask(callingBackOn: queue, { (_: Result<Value, KingfisherError>) in handler?() }, work)
    }
}
