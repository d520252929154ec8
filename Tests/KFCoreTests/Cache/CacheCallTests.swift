import Foundation
import KFCore
import Support
import Testing

@Suite("Calls of the cache", .bounded)
struct CacheCallTests {
    private let directory: TemporaryDirectory
    private let cache: ImageCache
    private let image: Image
    private let bytes: [UInt8]

    init() throws {
        directory = try TemporaryDirectory()
        var configuration = ImageCache.Configuration(directory: directory.url.appendingPathComponent("cache").path)
        // A busy machine may take longer than images stay in memory.
        let now = Timestamp.now()
        configuration.clock = CacheClock { now }
        cache = ImageCache(configuration)
        bytes = try ManagerFixture.fixture("png/rgb.png")
        image = try ImageDecoder.decode(bytes)
    }

    @Test("A stored image is found in memory and on the disk")
    func retrieving() async throws {
        #expect(try await cache.retrieveImage(forKey: "k").cacheType == .none)
        let stored = await cache.store(image, forKey: "k")
        #expect(stored.diskError == nil)
        #expect(cache.retrieveImageInMemoryCache(forKey: "k") == image)
        guard case .memory(let first) = try await cache.retrieveImage(forKey: "k") else {
            return #expect(Bool(false), "not in memory")
        }
        #expect(first == image)
        // The encoded image is kept beside its pixels.
        #expect(cache.memoryStorageCacheCost > image.cost)
        cache.clearMemoryCache()
        #expect(cache.retrieveImageInMemoryCache(forKey: "k") == nil)
        #expect(try await cache.retrieveImage(forKey: "k", options: [.fromMemoryCacheOrRefresh]).image == nil)
        #expect(try await cache.retrieveImageInDiskCache(forKey: "k")?.width == image.width)
        cache.clearMemoryCache()
        guard case .disk(let second) = try await cache.retrieveImage(forKey: "k") else {
            return #expect(Bool(false), "not on the disk")
        }
        #expect(second.bitmap == image.bitmap)
        #expect(try await cache.retrieveImage(forKey: "k").cacheType == .memory)
    }

    @Test("A processed image is another image of its key")
    func processed() async throws {
        let processor = ResizingImageProcessor(width: 5, height: 5)
        await cache.storeToDisk(bytes, forKey: "k", processorIdentifier: processor.identifier)
        #expect(try await cache.retrieveImage(forKey: "k").image == nil)
        #expect(try await cache.retrieveImage(forKey: "k", options: [.processor(processor)]).cacheType == .disk)
        #expect(cache.hash(forKey: "k").count == 64)
        #expect(cache.hash(forKey: "k") != cache.hash(forKey: "k", processorIdentifier: processor.identifier))
    }

    @Test("Bytes are stored unchanged on the disk")
    func storeToDisk() async throws {
        let result = await cache.storeToDisk(bytes, forKey: "k")
        #expect(result.diskError == nil)
        #expect(cache.memoryStorageCacheCost == 0)
        #expect(try await cache.imageCachedType(forKey: "k") == .disk)
        #expect(try await cache.cachePath(forKey: "k")?.hasSuffix(".png") == true)
        #expect(try await cache.diskStorageSize == Int64(bytes.count))
        #expect(try await cache.retrieveImageInDiskCache(forKey: "k") == image)
    }

    @Test("An image is removed from memory or from the disk")
    func removing() async throws {
        _ = await cache.store(image, forKey: "k")
        try await cache.removeImage(forKey: "k", fromMemory: true, fromDisk: false)
        #expect(try await cache.imageCachedType(forKey: "k") == .disk)
        _ = await cache.store(image, forKey: "k")
        try await cache.removeImage(forKey: "k", fromMemory: false, fromDisk: true)
        #expect(cache.retrieveImageInMemoryCache(forKey: "k") != nil)
        #expect(try await cache.retrieveImageInDiskCache(forKey: "k") == nil)
        try await cache.removeImage(forKey: "k")
        #expect(try await !cache.isCached(forKey: "k"))
    }

    @Test("Memory and disk are cleared separately or together")
    func clearing() async throws {
        _ = await cache.store(image, forKey: "k")
        try await cache.clearDiskCache()
        #expect(try await cache.imageCachedType(forKey: "k") == .memory)
        #expect(try await cache.diskStorageSize == 0)
        _ = await cache.store(image, forKey: "k")
        try await cache.clearCache()
        #expect(try await !cache.isCached(forKey: "k"))
        #expect(cache.memoryStorageCacheCost == 0)
    }

    @Test("A cache whose folder was removed is empty", arguments: [true, false])
    func removedFromOutside(creates: Bool) async throws {
        await cache.storeToDisk(bytes, forKey: "k")
        let folder = directory.url.appendingPathComponent("cache").path
        var configuration = ImageCache.Configuration(directory: folder)
        configuration.access = creates ? .create : .existing
        let cache = ImageCache(configuration)
        #expect(try await cache.summary()?.totals.entries == 1)
        try FileManager.default.removeItem(atPath: folder)
        #expect(try await cache.diskStorageSize == 0)
        #expect(try await cache.summary()?.totals.entries ?? 0 == 0)
        #expect(try await cache.entries(forKey: "k").isEmpty)
        #expect(try await cache.removeAll().entries == 0)
        guard creates else { return }
        await cache.storeToDisk(bytes, forKey: "k")
        #expect(try await cache.diskStorageSize == Int64(bytes.count))
    }

    @Test("Expired images are removed from memory and disk")
    func expired() async throws {
        let fixture = try ManagerFixture()
        let cache = fixture.manager.cache
        _ = await cache.store(image, forKey: "old", expiration: .seconds(400))
        fixture.advance(seconds: 350)
        cache.cleanExpiredMemoryCache()
        #expect(cache.memoryStorageCacheCost == 0)
        try await cache.cleanExpiredDiskCache()
        #expect(try await cache.isCached(forKey: "old"))
        fixture.advance(seconds: 100)
        try await cache.cleanExpiredCache()
        #expect(try await cache.diskStorageSize == 0)
    }

    @Test("An image of a lower layer counts as cached")
    func lowerLayers() async throws {
        _ = await cache.store(image, forKey: "k")
        await cache.close()
        var configuration = ImageCache.Configuration(directory: directory.url.appendingPathComponent("upper").path)
        configuration.lowerLayers = [directory.url.appendingPathComponent("cache").path]
        let upper = ImageCache(configuration)
        #expect(try await upper.isCached(forKey: "k"))
        #expect(try await upper.imageCachedType(forKey: "k") == .disk)
        #expect(try await !upper.isCached(forKey: "other"))
    }

    @Test("A file named by the program serves as a cached image")
    func additionalPath() async throws {
        let file = directory.url.appendingPathComponent("shipped.png")
        try bytes.withUnsafeBytes { try Data($0).write(to: file) }
        let text = directory.url.appendingPathComponent("text.png")
        try Data("no image".utf8).write(to: text)
        var configuration = ImageCache.Configuration(directory: directory.url.appendingPathComponent("cache").path)
        configuration.additionalCachePath = { key in
            key == "http://h/shipped.png" ? file.path : key == "text" ? text.path : "/nowhere"
        }
        let cache = ImageCache(configuration)
        let manager = KingfisherManager(cache: cache)
        let url = try RequestURL("http://h/shipped.png")
        #expect(try await cache.isCached(forKey: url.text))
        let result = try await manager.retrieveImage(with: url, options: [.onlyFromCache])
        #expect(result.way == .disk && result.cachedPath == file.path)
        #expect(try await result.data() == bytes)
        let small = try await manager.retrieveImage(
            with: url,
            options: [.processor(ResizingImageProcessor(width: 5, height: 5)), .onlyFromCache, .waitForCache])
        #expect(small.way == .derived && small.facts.width == 5)
        #expect(try await cache.diskStorageSize == small.facts.bytes)
        for key in ["text", "other"] { #expect(try await !cache.isCached(forKey: key)) }
        await manager.shutdown()
    }
}
