import Foundation
import KFStorage
import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The bytes that a store writes", .bounded)
struct StoringTests {
    private let fixture: ManagerFixture
    private var cache: ImageCache { fixture.manager.cache }

    init() throws { fixture = try ManagerFixture() }

    private func stored(_ key: String, _ identifier: String = "") async throws -> [UInt8] {
        let path = try #require(try await cache.cachePath(forKey: key, processorIdentifier: identifier))
        return [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    @Test("An original is written unchanged unless the serializer re-encodes it")
    func original() async throws {
        let bytes = try ManagerFixture.fixture("jpeg/progressive.jpg")
        let image = try ImageDecoder.decode(bytes)
        _ = await cache.store(image, original: bytes, forKey: "kept")
        #expect(try await stored("kept") == bytes)
        let serializer = DefaultCacheSerializer(options: EncodeOptions(quality: 60))
        let expected = try serializer.data(for: image, original: .jpeg)
        #expect(expected.format == .jpeg)
        _ = await cache.store(image, original: bytes, forKey: "encoded", cacheSerializer: serializer)
        #expect(try await stored("encoded") == expected.bytes)
    }

    @Test("A processed image is written in place of its original")
    func processed() async throws {
        let bytes = try ManagerFixture.fixture("jpeg/progressive.jpg")
        let identifier = "resize:4x4,none"
        let image = try ProcessorParser.parse("resize:4x4").process(.data(bytes), options: ProcessingOptions())
        _ = await cache.store(image, original: bytes, forKey: "k", processorIdentifier: identifier)
        let written = try await stored("k", identifier)
        #expect(written == (try DefaultCacheSerializer().data(for: image, original: .jpeg).bytes))
        // An identifier that only says how it is encoded names no processor.
        let serializer = FormatIndicatedCacheSerializer(format: .jpeg)
        let whole = try ImageDecoder.decode(bytes)
        _ = await cache.store(
            whole, original: bytes, forKey: "k", processorIdentifier: serializer.identifier,
            cacheSerializer: serializer)
        #expect(try await stored("k", serializer.identifier) == bytes)
    }

    @Test("Unfinished bytes have no digest")
    func digest() throws {
        let bytes = try ManagerFixture.fixture("png/rgb.png")
        let digest = bytes.withUnsafeBytes { SHA256.hash($0) }
        _ = try cache.storage()
        let whole = try #require(try cache.stage(bytes))
        #expect(try PendingBytes.memory(bytes).digest() == digest && PendingBytes.staged(whole).digest() == digest)
        let unfinished = try #require(try cache.stage())
        try bytes.withUnsafeBytes { try unfinished.write($0) }
        #expect(throws: KingfisherError.self) { try PendingBytes.staged(unfinished).digest() }
    }

    @Test("An image whose original has no digest is not stored")
    func noDigest() throws {
        let source = Source.provider(RawImageDataProvider(data: [], cacheKey: "k"))
        let retrieval = Retrieval(
            source, ManagerFixture.options { $0.processor = GrayscaleImageProcessor() }, cache)
        let bytes = try ManagerFixture.fixture("png/rgb.png")
        let made = ProcessedImage(image: try ImageDecoder.decode(bytes), bytes: bytes, format: .png)
        _ = try cache.storage()
        let unfinished = try Body(of: .staged(try #require(try cache.stage())))
        var ending = ImageEnding(retrieval, asked: retrieval, .fetched, .processed(made), of: unfinished)
        var turn = Turn()
        ending.keepTarget(&turn)
        guard let target = ending.target, case .failure? = unfinished.outcome(of: target) else {
            Issue.record("the store was ordered")
            return
        }
        #expect(turn.isEmpty)
    }

    /// Makes every store fail: no image is small enough.
    private func tinyCache(_ failures: SharedValue<[CacheStoreFailure]>, _ notices: SharedValue<[String]>) throws
        -> ImageCache
    {
        var configuration = ImageCache.Configuration(directory: fixture.directory.path("tiny").path)
        configuration.diskSizeLimit = 10
        let time = fixture.time
        configuration.clock = CacheClock { time.value }
        configuration.didFailToStore = { failure in failures.change { $0.append(failure) } }
        configuration.notice = { text in notices.change { $0.append(text) } }
        return ImageCache(configuration)
    }

    @Test("A store that fails in the background is reported with its key")
    func failure() async throws {
        let (failures, notices) = (SharedValue<[CacheStoreFailure]>([]), SharedValue<[String]>([]))
        let manager = KingfisherManager(cache: try tinyCache(failures, notices))
        for key in ["a", "b"] {
            let bytes = try ManagerFixture.fixture("png/rgb.png")
            let result = try await manager.retrieveImage(
                with: .provider(RawImageDataProvider(data: bytes, cacheKey: key)), options: KingfisherOptions())
            #expect(result.storing.diskError == nil, "it cannot be known yet")
        }
        await manager.shutdown()
        #expect(failures.value.map(\.name.key).sorted() == ["a", "b"])
        #expect(failures.value.allSatisfy { $0.error.errorCode == 3014 })
        #expect(notices.value.count == 1, "once for what is the same: \(notices.value)")
        // Who waits for the store is told by the result, and nobody else.
        let result = try await manager.retrieveImage(
            with: .provider(RawImageDataProvider(data: ManagerFixture.fixture("png/rgb.png"), cacheKey: "c")),
            options: [.waitForCache])
        #expect(result.storing.diskError != nil)
        #expect(failures.value.count == 2)
    }
}
