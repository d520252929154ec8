import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Changes to a storage in use", .bounded)
struct StorageConfigTests {
    private let fixture: ManagerFixture
    private var cache: ImageCache { fixture.manager.cache }

    init() throws { fixture = try ManagerFixture() }

    private func source(_ key: String) throws -> Source {
        let bytes = try ManagerFixture.fixture("png/grey.png") + Array(key.utf8)
        return .provider(RawImageDataProvider(data: bytes, cacheKey: key))
    }

    @Test("A cache's expirations apply when the options set no other")
    func expiration() async throws {
        cache.diskStorage.config.expiration = .seconds(10)
        cache.memoryStorage.config.expiration = .seconds(20)
        _ = try await fixture.manager.retrieveImage(with: source("default"), options: [.waitForCache])
        _ = try await fixture.manager.retrieveImage(
            with: source("own"),
            options: [.waitForCache, .diskCacheExpiration(.days(1)), .memoryCacheExpiration(.seconds(5))])
        let image = try ImageDecoder.decode(ManagerFixture.fixture("png/grey.png"))
        _ = await cache.store(image, forKey: "stored")
        fixture.advance(seconds: 11)
        for key in ["default", "stored"] {
            #expect(try await cache.imageCachedType(forKey: key) == .memory)
        }
        #expect(try await cache.imageCachedType(forKey: "own") == .disk)
        fixture.advance(seconds: 10)
        for key in ["default", "stored"] { #expect(try await cache.imageCachedType(forKey: key) == .none) }
        #expect(try await cache.imageCachedType(forKey: "own") == .disk)
    }

    @Test("A cache is created with its expirations and limits")
    func madeWith() async throws {
        var configuration = ImageCache.Configuration(directory: nil)
        configuration.memoryExpiration = .seconds(20)
        configuration.diskExpiration = .seconds(10)
        configuration.diskSizeLimit = 77
        let other = ImageCache(configuration)
        #expect(other.memoryStorage.config.expiration == .seconds(20))
        #expect(other.diskStorage.config == DiskStorageConfig(sizeLimit: 77, expiration: .seconds(10)))
    }

    @Test("A lower memory limit frees memory at once")
    func memoryLimit() async throws {
        let image = try ImageDecoder.decode(ManagerFixture.fixture("png/grey.png"))
        for key in ["a", "b", "c"] { _ = await cache.store(image, forKey: key, toDisk: false) }
        cache.memoryStorage.config.countLimit = 1
        #expect(try await cache.imageCachedType(forKey: "b") == .none)
        #expect(try await cache.imageCachedType(forKey: "c") == .memory)
        cache.memoryStorage.config.totalCostLimit = image.cost - 1
        #expect(try await cache.imageCachedType(forKey: "c") == .none)
    }

    @Test("A lower disk limit evicts images")
    func diskLimit() async throws {
        for key in ["a", "b", "c", "d"] {
            _ = try await fixture.manager.retrieveImage(with: source(key), options: [.waitForCache])
        }
        let stored = try #require(try await cache.summary()).totals.stored
        cache.diskStorage.config.sizeLimit = stored - 1
        #expect(try await eventually { try await cache.summary()?.totals.stored ?? stored < stored })
        #expect(try await cache.summary()?.limit == stored - 1)
    }

    @Test("Equal frames of an animation share their memory")
    func frames() throws {
        var bitmap = try Bitmap(width: 40, height: 30, format: .rgba)
        let first = ImageFrame(bitmap: bitmap, delay: .milliseconds(100))
        try bitmap.withUnsafeMutableRows { $0.row(0)[0] = 9 }
        let second = ImageFrame(bitmap: bitmap, delay: .milliseconds(100))
        let image = try #require(Image(frames: [first, first, second, second, second]))
        #expect(image.cost == 2 * bitmap.byteCount)
        let encoded = try ImageEncoder.encode(image, as: .webp)
        let decoded = try ImageDecoder.decode(encoded)
        #expect(decoded.cost <= 2 * bitmap.byteCount)
        let mapped = try image.mapBitmaps { (bitmap) throws(ImagingError) in
            var copy = bitmap
            try copy.withUnsafeMutableRows { $0.row(1)[1] = 9 }
            return copy
        }
        #expect(mapped.cost == image.cost)
    }

    @Test("A timeout of zero means the default of 15 s")
    func timeout() {
        var request = RequestOptions()
        request.timeout = .seconds(3)
        #expect(request.timeout == .seconds(3))
        request.timeout = .zero
        #expect(request.timeout == .seconds(15))
        request.timeout = nil
        #expect(request.timeout == nil)
    }
}
