import Foundation
import KFStorage
import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Reports of cleanings", .bounded)
struct CacheCleaningTests {
    private let directory: TemporaryDirectory
    private let time = SharedValue(Timestamp(milliseconds: 1_700_000_000_000))
    private let told = SharedValue<[CacheCleaning]>([])
    private let bytes: [UInt8]

    init() throws {
        directory = try TemporaryDirectory()
        bytes = try ManagerFixture.fixture("png/grey.png")
    }

    private func cache(limit: Int64 = 0) -> ImageCache {
        var configuration = ImageCache.Configuration(directory: directory.url.appendingPathComponent("cache").path)
        configuration.diskSizeLimit = limit
        let time = time
        configuration.clock = CacheClock { time.value }
        let told = told
        configuration.didClean = { told.value += [$0] }
        return ImageCache(configuration)
    }

    /// Each with bytes of its own, so that each is a file of its own.
    private func store(_ key: String, in cache: ImageCache, expiration: StorageExpiration = .never) async throws {
        let image = try ImageDecoder.decode(bytes)
        let result = await cache.store(
            image, original: bytes + Array(key.utf8), forKey: key, expiration: expiration)
        #expect(result.diskError == nil)
    }

    private func names(_ cleaning: CacheCleaning?) -> [String] { cleaning?.names.map(\.description).sorted() ?? [] }

    @Test("A cleaning of expired images is reported once")
    func expired() async throws {
        let cache = cache()
        for key in ["a", "b"] { try await store(key, in: cache, expiration: .seconds(10)) }
        try await store("c", in: cache)
        _ = try await cache.removeExpired()
        #expect(told.value.isEmpty)
        time.value = time.value.advanced(by: 20_000)
        #expect(try await cache.removeExpired(dryRun: true).entries == 2)
        #expect(told.value.isEmpty)
        _ = try await cache.removeExpired()
        #expect(told.value.count == 1)
        #expect(names(told.value.first) == ["a", "b"])
        #expect(told.value.first?.removal.entries == 2)
        await cache.close()
    }

    @Test("An eviction by a store is reported")
    func evicted() async throws {
        let cache = cache(limit: Int64(bytes.count) * 4)
        for key in ["a", "b", "c", "d", "e"] {
            try await store(key, in: cache)
            time.value = time.value.advanced(by: 1000)
        }
        #expect(!told.value.isEmpty)
        #expect(names(told.value.first).first == "a", "the longest unused goes first")
        told.value = []
        _ = try await cache.removeImage(forKey: "e")
        #expect(told.value.isEmpty)
        let left = try await cache.removeAll().entries
        #expect(left > 0 && told.value.map(\.removal.entries) == [left])
        await cache.close()
    }

    @Test("A dry run leaves images in memory")
    func memory() async throws {
        let cache = cache()
        try await store("a", in: cache)
        _ = try await cache.remove(CacheSelection(), dryRun: true)
        #expect(try await cache.imageCachedType(forKey: "a") == .memory)
        _ = try await cache.remove(CacheSelection())
        #expect(try await cache.imageCachedType(forKey: "a") == .none)
        await cache.close()
    }

    @Test("A report keeps a bounded number of names")
    func bounded() {
        var cleaning = CacheCleaning()
        for index in 0..<CacheCleaning.nameLimit + 10 { cleaning.add(EntryName(EntryKey(key: "\(index)"))) }
        #expect(cleaning.names.count == CacheCleaning.nameLimit && cleaning.names.first?.key == "0")
    }
}
