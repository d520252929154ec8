import Foundation
import KFCore
import KFFoundation
import Support
import Testing

@Suite("Kingfisher's calls with completion handlers", .bounded)
struct CallbackTests {
    private let directory: TemporaryDirectory
    private let cache: ImageCache
    private let bytes: Data

    init() throws {
        bytes = try FixturesDirectory.named("png/rgb.png").data
        directory = try TemporaryDirectory()
        cache = ImageCache(name: "own", cacheDirectoryURL: directory.url)
    }

    @Test("An image is stored, retrieved and removed")
    func images() async throws {
        let stored = await withCheckedContinuation { continuation in
            cache.storeToDisk(bytes, forKey: "a") { continuation.resume(returning: $0) }
        }
        #expect(throws: Never.self) { try stored.diskCacheResult.get() }
        #expect(type(of: self).cachedType(in: cache, "a") == .disk)
        let onDisk = await withCheckedContinuation { continuation in
            cache.retrieveImageInDiskCache(forKey: "a", options: nil) { continuation.resume(returning: $0) }
        }
        let image = try #require(try onDisk.get())
        let second = await withCheckedContinuation { continuation in
            cache.store(image, original: bytes, forKey: "b") { continuation.resume(returning: $0) }
        }
        #expect(throws: Never.self) { try second.diskCacheResult.get() }
        let found = await withCheckedContinuation { continuation in
            cache.retrieveImage(forKey: "b") { continuation.resume(returning: $0) }
        }
        #expect(try found.get().cacheType == .memory)
        await withCheckedContinuation { continuation in
            cache.removeImage(forKey: "b") { continuation.resume() }
        }
        #expect(type(of: self).cachedType(in: cache, "b") == CacheType.none)
        #expect(FileManager.default.fileExists(atPath: directory.url.appendingPathComponent("own").path))
    }

    @Test("The disk cache is measured and emptied")
    func sizes() async throws {
        await cache.storeToDisk(bytes, forKey: "a")
        #expect(try await size() == UInt(bytes.count))
        await withCheckedContinuation { continuation in cache.cleanExpiredDiskCache { continuation.resume() } }
        await withCheckedContinuation { continuation in cache.cleanExpiredCache { continuation.resume() } }
        #expect(try await size() == UInt(bytes.count))
        await withCheckedContinuation { continuation in cache.clearDiskCache { continuation.resume() } }
        #expect(try await size() == 0)
        await withCheckedContinuation { continuation in cache.clearCache { continuation.resume() } }
    }

    @Test("A download of an invalid URL fails in its handler")
    func downloads() async throws {
        let url = try #require(URL(string: "ftp://h/a.png"))
        let result = await withCheckedContinuation { continuation in
            ImageDownloader().downloadImage(with: url, options: nil) { continuation.resume(returning: $0) }
        }
        #expect(throws: KingfisherError.self) { try result.get() }
        if case .failure(let error) = result { #expect(error.errorCode == 1002) }
        let resource: any Resource = url
        #expect(resource.cacheKey == "ftp://h/a.png")
    }

    @Test("A header is set, added and removed")
    func headers() {
        var request = ImageDownloadRequest(
            url: nil, headers: [("accept", "image/*"), ("X-Other", "1"), ("Accept", "a")])
        request.setValue("b", forHTTPHeaderField: "Accept")
        #expect(request.headers.map(\.name) == ["Accept", "X-Other"] && request.headers["ACCEPT"] == "b")
        request.addValue("c", forHTTPHeaderField: "accept")
        #expect(request.headers.count == 3 && request.value(forHTTPHeaderField: "accept") == "b")
        request.headers["accept"] = nil
        #expect(request.allHTTPHeaderFields == ["X-Other": "1"])
        request.allHTTPHeaderFields = ["b": "2", "a": "1"]
        #expect(request.headers.map(\.value) == ["1", "2"] && request.headers["c"] == nil)
    }

    @Test("A number without a type is a time in seconds")
    func seconds() {
        let memory = cache.memoryStorage
        memory.config.cleanInterval = 30
        #expect(memory.config.cleanInterval == .seconds(30))
        memory.config.cleanInterval = .seconds(40)
        #expect(memory.config.cleanInterval as TimeInterval == 40)
        var options = KingfisherOptions()
        options.request.timeout = 2.5
        #expect(options.request.timeout == .milliseconds(2500))
        options.request.timeout = nil
        #expect((options.request.timeout as Duration?) == nil)
    }

    private func size() async throws -> UInt {
        try await withCheckedContinuation { continuation in
            cache.calculateDiskStorageSize { continuation.resume(returning: $0) }
        }.get()
    }

    /// A function outside of tasks, as most callers of Kingfisher are.
    private static func cachedType(in cache: ImageCache, _ key: String) -> CacheType {
        cache.isCached(forKey: key) ? cache.imageCachedType(forKey: key) : .none
    }
}
