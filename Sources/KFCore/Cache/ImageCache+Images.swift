import KFImaging
import KFPipeline
import KFStorage
import KFSystem
import KFTerms

/// Images by key. Only the options that describe the wanted image count: processor, serializer, scale factor, decoding,
/// modifier and the expiration in memory.
extension ImageCache {
    /// Returns the image of a key, from memory or else from the disk. An image from the disk is kept in memory.
    ///
    /// Throws `cannotLoadDataFromDisk` (3004) for a file that cannot be read, and `processingFailed` (4001) for one
    /// that cannot be decoded.
    public func retrieveImage(
        forKey key: String, options: KingfisherOptionsInfo? = nil
    ) async throws(KingfisherError) -> ImageCacheResult {
        let wanted = WantedImage(key, options)
        if let cached = inMemory(wanted) {
            return .memory(
                try await WorkerPool.processing.run { [self] () throws(KingfisherError) in
                    try wanted.image(cached, in: self)
                })
        }
        if wanted.options.fromMemoryCacheOrRefresh { return .none }
        return try await onDisk(wanted).map { .disk($0) } ?? .none
    }

    /// Returns the image of a key if it is in memory. An image that is kept there encoded is decoded on the calling
    /// thread; the result is nil when that fails.
    public func retrieveImageInMemoryCache(forKey key: String, options: KingfisherOptionsInfo? = nil) -> Image? {
        let wanted = WantedImage(key, options)
        guard let cached = inMemory(wanted) else { return nil }
        // The image on the disk, which the other functions look for, may be decodable.
        return try? wanted.image(cached, in: self)
    }

    /// Returns the image of a key if it is on the disk and fresh, whatever memory holds; otherwise nil. Throws as
    /// ``retrieveImage(forKey:options:)`` does.
    public func retrieveImageInDiskCache(
        forKey key: String, options: KingfisherOptionsInfo? = nil
    ) async throws(KingfisherError) -> Image? {
        try await onDisk(WantedImage(key, options))
    }

    /// Stores bytes under a key on the disk as they are: an image file, or the output of a serializer. Without an
    /// `expiration`, the cache's own applies (7 days).
    @discardableResult
    public func storeToDisk(
        _ data: [UInt8], forKey key: String, processorIdentifier identifier: String = "",
        expiration: StorageExpiration? = nil
    ) async -> CacheStoreResult {
        var (known, pixels): (ImageFormat?, PixelFacts?)
        if case .image(let format) = data.withUnsafeBytes(ContentKind.sniff) {
            known = format
            let probed = data.withUnsafeBytes { bytes in
                Result { () throws(ImagingError) in try ImageProbe.probe(bytes, limits: DecodeLimits()) }
            }
            if case .success(let info) = probed { pixels = PixelFacts(info) }
        }
        var result = CacheStoreResult()
        result.disk = await store(data, EntryKey(key: key, identifier: identifier), known, pixels, expiration)
        return result
    }

    /// Stores bytes that no server sent on the disk.
    func store(
        _ data: [UInt8], _ key: EntryKey, _ format: ImageFormat?, _ pixels: PixelFacts?,
        _ expiration: StorageExpiration?
    ) async -> CacheStoreResult.Outcome {
        var facts = EntryFacts()
        facts.host = EntryFacts.localHost
        facts.format = format?.rawValue ?? "unknown"
        facts.fileExtension = format?.fileExtension ?? ""
        facts.pixels = pixels
        facts.expiration = expiration ?? diskConfig.expiration
        do {
            return try await storeOnDisk(.memory(data), key, facts) == nil ? .none : .stored
        } catch {
            return .failed(error)
        }
    }

    /// Returns the SHA-256 of `key@processorIdentifier`, or of the key alone, as 64 hexadecimal digits. Kingfisher uses
    /// it as the file name. Here files are content-addressed, and ``cachePath(forKey:processorIdentifier:)`` finds
    /// them.
    public func hash(forKey key: String, processorIdentifier: String = "") -> String {
        var sha = SHA256()
        sha.update(EntryKey(key: key, identifier: processorIdentifier).description)
        return sha.finish().hex
    }

    private func inMemory(_ wanted: WantedImage) -> CachedImage? {
        let extending = wanted.options.memoryCacheAccessExtendingExpiration
        return wanted.keys.lazy.compactMap { self.imageInMemory($0, extending: extending) }.first
    }

    private func onDisk(_ wanted: WantedImage) async throws(KingfisherError) -> Image? {
        let removals = memory.removals
        let found = try await blocking.run { [self] () throws(KingfisherError) -> (EntryKey, CachedImage)? in
            for key in wanted.keys {
                guard let found = try firstFile(of: [key], strict: true), found.isFresh else { continue }
                noteHit(found)
                let facts = ImageFacts(found.entry)
                return (key, CachedImage(bytes: try found.file.readAll(), facts: facts, path: found.file.path))
            }
            return nil
        }
        guard let (key, cached) = found else { return nil }
        if wanted.options.memoryCacheExpiration != .expired {
            storeInMemory(
                cached, key, expiration: wanted.options.memoryCacheExpiration, unlessRemovedSince: removals)
        }
        return try await WorkerPool.processing.run { [self] () throws(KingfisherError) in
            try wanted.image(cached, in: self)
        }
    }
}

/// A key, and the options for the image that is found there.
private struct WantedImage: Sendable {
    let box: OptionsBox
    /// The keys to look up: first the manager's key, then that of `store(_:forKey:processorIdentifier:)`, without the
    /// serializer's identifier.
    let keys: [EntryKey]

    init(_ key: String, _ options: KingfisherOptionsInfo?) {
        box = OptionsBox(KingfisherOptions(options ?? []))
        let identifiers = [box.identifier, box.value.processor.identifier]
        keys = (identifiers[0] == identifiers[1] ? [identifiers[0]] : identifiers).map {
            EntryKey(key: key, identifier: $0)
        }
    }

    var options: KingfisherOptions { box.value }

    /// Decodes the image once, if the memory cache has room for the pixels.
    func image(_ cached: CachedImage, in cache: ImageCache) throws(KingfisherError) -> Image {
        if let image = cached.image { return box.result.modified(image) }
        let image = try box.result.image(of: cached.bytes ?? [], keys[0].identifier)
        for key in keys { cache.keep(image, of: cached, key) }
        return box.result.modified(image)
    }
}
