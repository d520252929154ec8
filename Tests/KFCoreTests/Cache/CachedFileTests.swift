import Foundation
import Glibc
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Cached files", .bounded)
struct CachedFileTests {
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
        "The content decides a cached file's extension",
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

    @Test("A removed or replaced file is fetched again", arguments: [true, false])
    func lostFile(isRemoved: Bool) async throws {
        let bytes = try ManagerFixture.fixture("png/rgb.png")
        let path = try #require(try await get(source("k", bytes)).cachedPath)
        cache.clearMemoryCache()
        try FileManager.default.removeItem(atPath: path)
        if !isRemoved { try Data([1, 2, 3]).write(to: URL(filePath: path)) }
        #expect(await failure { try await get(source("k", bytes), [.onlyFromCache]) }?.errorCode == 3006)
        #expect(try await get(source("k", bytes)).way == .fetched)
    }

    @Test("An image that is replaced before its file is open is the new one", arguments: [1, 2])
    func replacedMeanwhile(times: Int) throws {
        let storage = try #require(try cache.storage())
        let key = EntryKey(key: "k")
        func put(_ byte: UInt8) throws {
            let committed = DispatchSemaphore(value: 0)
            var facts = EntryFacts()
            (facts.format, facts.fileExtension) = ("png", "png")
            storage.store([try storage.prepare([byte], nil, key, facts)], urgent: true) { _ in committed.signal() }
            committed.wait()
        }
        try put(0)
        var replaced = 0
        let found = try storage.file(for: key) { _ in
            if replaced < times {
                replaced += 1
                #expect(throws: Never.self) { try put(UInt8(replaced)) }
            }
            return true
        }
        #expect(try found?.readAll() == [UInt8(times)])
        #expect(try storage.file(for: key)?.readAll() == [UInt8(times)])
    }

    @Test("Several tasks may read one result at once") func together() async throws {
        let bytes = try ManagerFixture.fixture("jpeg/landscape-444.jpg")
        try await get(source("k", bytes))
        cache.clearMemoryCache()
        let result = try await get(source("k", bytes), [.memoryCacheExpiration(.expired)])
        try await withThrowingTaskGroup(of: Bool.self) { tasks in
            for _ in 0..<8 {
                tasks.addTask {
                    for _ in 0..<50 where try await result.data() != bytes { return false }
                    return true
                }
            }
            for try await isWhole in tasks { #expect(isWhole) }
        }
    }

    @Test("A running process counts its own hits and misses")
    func counts() async throws {
        let bytes = try ManagerFixture.fixture("png/one-pixel.png")
        for _ in 0..<4 { try await get(source("k", bytes), [.memoryCacheExpiration(.expired)]) }
        let reads = try #require(try await cache.summary()).totals.reads
        #expect(reads.hits == 3 && reads.misses == 1)
        await manager.shutdown()
        #expect(try await cache.summary()?.totals.reads.hits == 3)
    }

    /// A file that another holds a lease on cannot be opened by anybody, not even by root.
    private func makeUnreadable(_ path: String) async throws -> FileDescriptor {
        // A broken lease is told by this signal, which would end the process.
        signal(SIGIO, SIG_IGN)
        // F_SETLEASE of <fcntl.h>, which Glibc's module leaves out.
        let setLease: Int32 = 1024
        let file = try FileDescriptor.open(path, O_RDONLY)
        // There is no lease while whoever stored it has it open: those who read it may be about to let go of it.
        let isLeased = try await eventually {
            if fcntl(file.raw, setLease, F_WRLCK) == 0 { return true }
            try #require(errno == EAGAIN, "no lease: errno \(errno)")
            return false
        }
        try #require(isLeased)
        return file
    }

    @Test("An unreadable file is fetched again, or error 3004 offline")
    func unreadable() async throws {
        let bytes = try ManagerFixture.fixture("png/rgb.png")
        try await get(source("k", bytes))
        cache.clearMemoryCache()
        let path = try #require(try await cache.cachePath(forKey: "k"))
        let holder = try await makeUnreadable(path)
        #expect(await failure { try await get(source("k", bytes), [.onlyFromCache]) }?.errorCode == 3004)
        #expect(try await get(source("k", bytes)).way == .fetched)
        _ = consume holder
    }

    @Test("An image that expires at once is kept only in memory")
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

    @Test("An animated GIF stays animated when only its frames are stored")
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
