import Foundation
import Glibc
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Behaviours: caching", .bounded)
struct CachingBehaviourTests {
    private let fixture: ManagerFixture
    private let manager: KingfisherManager
    private var cache: ImageCache { manager.cache }

    init() throws {
        fixture = try ManagerFixture()
        manager = fixture.manager
    }

    private func source(_ key: String, _ bytes: [UInt8]) -> Source {
        .provider(RawImageDataProvider(data: bytes, cacheKey: key))
    }

    @discardableResult
    private func get(_ source: Source, _ items: KingfisherOptionsInfo = []) async throws -> RetrieveImageResult {
        try await manager.retrieveImage(with: source, options: [.waitForCache] + items)
    }

    @Test(
        "File extensions come from the content, whatever the source is called",
        arguments: [
            ("png/rgb.png", "png"), ("jpeg/progressive.jpg", "jpg"), ("gif/still.gif", "gif"),
            ("webp/lossless.webp", "webp"),
        ])
    func extensions(_ file: String, _ expected: String) async throws {
        let result = try await get(source("http://h/picture.bmp", ManagerFixture.fixture(file)))
        #expect(result.cachedPath?.hasSuffix(".\(expected)") == true)
        let processed = try await get(
            source("http://h/picture.bmp", ManagerFixture.fixture(file)),
            [
                .processor(ProcessorParser.parse("resize:4x4")),
                .cacheSerializer(FormatIndicatedCacheSerializer(format: .png)),
            ])
        #expect(processed.cachedPath?.hasSuffix(".png") == true)
    }

    @Test("Cache folder deleted from outside: size 0, a miss, and the next store works")
    func deletedFolder() async throws {
        let bytes = try ManagerFixture.fixture("png/rgb.png")
        try await get(source("k", bytes))
        try FileManager.default.removeItem(at: fixture.directory.path("cache"))
        cache.clearMemoryCache()
        #expect(try await get(source("k", bytes)).way == .fetched)
        cache.clearMemoryCache()
        #expect(try await get(source("k", bytes)).way == .disk)
        await manager.shutdown()
        try FileManager.default.removeItem(at: fixture.directory.path("cache"))
        let other = ImageCache(.init(directory: fixture.directory.path("cache").path))
        #expect(try await other.summary()?.totals.stored == 0)
        #expect(try await other.imageCachedType(forKey: "k") == .none)
    }

    @Test("File removed behind the cache: a miss; a root that is a regular file: 3011")
    func removedFile() async throws {
        let bytes = try ManagerFixture.fixture("png/rgb.png")
        let path = try #require(try await get(source("k", bytes)).cachedPath)
        cache.clearMemoryCache()
        try FileManager.default.removeItem(atPath: path)
        let error = await #expect(throws: KingfisherError.self) { try await get(source("k", bytes), [.onlyFromCache]) }
        #expect(error?.errorCode == 3006)
        #expect(try await get(source("k", bytes)).way == .fetched)

        let file = try fixture.directory.write("file", "x").path
        let broken = KingfisherManager(cache: ImageCache(.init(directory: file)))
        let refusal = await #expect(throws: KingfisherError.self) {
            try await broken.retrieveImage(with: source("k", bytes))
        }
        #expect(refusal?.errorCode == 3011)
    }

    /// A file that another holds a lease on cannot be opened by anybody, not even by root.
    private func makeUnreadable(_ path: String) async throws -> FileDescriptor {
        // A broken lease is told by this signal, which would end the process.
        signal(SIGIO, SIG_IGN)
        // F_SETLEASE of <fcntl.h>, which Glibc's module leaves out.
        let setLease: Int32 = 1024
        let file = try FileDescriptor.open(path, O_RDONLY)
        // There is no lease while whoever stored it has it open: those who read it may be about to let go of it.
        for _ in 0..<10_000 {
            if fcntl(file.raw, setLease, F_WRLCK) == 0 { break }
            try #require(errno == EAGAIN, "no lease: errno \(errno)")
            try await Task.sleep(for: .milliseconds(2))
        }
        return file
    }

    @Test("An unreadable file: 3004 where the source may not be asked, else a miss")
    func unreadable() async throws {
        let bytes = try ManagerFixture.fixture("png/rgb.png")
        try await get(source("k", bytes))
        cache.clearMemoryCache()
        let path = try #require(try await cache.cachePath(forKey: "k"))
        let holder = try await makeUnreadable(path)
        let error = await #expect(throws: KingfisherError.self) { try await get(source("k", bytes), [.onlyFromCache]) }
        #expect(error?.errorCode == 3004)
        #expect(try await get(source("k", bytes)).way == .fetched)
        _ = consume holder
    }

    @Test("`.expired` on the disk: memory only")
    func expiredOnDisk() async throws {
        let bytes = try ManagerFixture.fixture("png/rgb.png")
        let resize = KingfisherOptionsInfoItem.processor(try ProcessorParser.parse("resize:20x10"))
        let result = try await get(source("k", bytes), [resize, .diskCacheExpiration(.expired)])
        #expect(result.cachedPath == nil)
        let type = { try await cache.imageCachedType(forKey: "k", processorIdentifier: "resize:20x10,none") }
        #expect(try await type() == .memory)
        cache.clearMemoryCache()
        #expect(try await type() == .none)

        let image = try ImageDecoder.decode(bytes)
        let stored = await cache.store(image, forKey: "other", expiration: .expired)
        guard case .stored = stored.memory, case .none = stored.disk else {
            Issue.record("stored: \(stored)")
            return
        }
        #expect(try await cache.imageCachedType(forKey: "other") == .memory)
    }

    @Test("An animated GIF that is stored without its bytes stays animated")
    func animation() async throws {
        let image = try ImageDecoder.decode(ManagerFixture.fixture("gif/animated.gif"))
        #expect(image.frames.count > 1)
        let stored = await cache.store(image, forKey: "k")
        #expect(stored.diskError == nil)
        cache.clearMemoryCache()
        let result = try await get(source("k", []), [.onlyFromCache])
        #expect(result.way == .disk)
        #expect(result.facts.format == .gif)
        let again = try await result.image()
        #expect(again.frames.map(\.delay) == image.frames.map(\.delay))
        #expect(again.loopCount == image.loopCount)
    }
}
