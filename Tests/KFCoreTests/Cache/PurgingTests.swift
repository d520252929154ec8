import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Removals during background stores", .bounded)
struct PurgingTests {
    private let fixture: ManagerFixture
    private var cache: ImageCache { fixture.manager.cache }

    init() throws { fixture = try ManagerFixture() }

    private func isGone(_ key: String, _ identifier: String = "") async throws -> Bool {
        try await cache.imageCachedType(forKey: key, processorIdentifier: identifier) == .none
    }

    /// Retrieves images whose stores may still run when the work on each begins.
    private func retrieve(
        _ count: Int, _ options: KingfisherOptions = KingfisherOptions(), _ work: (Int) async throws -> Void
    ) async throws {
        let bytes = try ManagerFixture.fixture("png/one-pixel.png")
        for index in 0..<count {
            let source = Source.provider(RawImageDataProvider(data: bytes, cacheKey: "\(index)"))
            _ = try await fixture.manager.retrieveImage(with: source, options: options)
            try await work(index)
        }
        await fixture.manager.background.wait()
    }

    @Test("An image removed right after its delivery does not come back", arguments: [false, true])
    func removed(isProcessed: Bool) async throws {
        let options =
            isProcessed ? try ManagerFixture.resized { $0.waitForCache = false } : KingfisherOptions()
        try await retrieve(60, options) { _ = try await cache.removeImage(forKey: "\($0)") }
        for index in 0..<60 {
            #expect(try await isGone("\(index)"))
            #expect(try await isGone("\(index)", options.processor.identifier))
        }
    }

    @Test("Images do not come back after a removal of many")
    func removedAll() async throws {
        try await retrieve(30) { index in
            var selection = CacheSelection()
            selection.glob = "\(index)"
            _ = try await index % 2 == 0 ? cache.removeAll() : cache.remove(selection)
        }
        for index in 0..<30 { #expect(try await isGone("\(index)")) }
    }

    @Test("A memory cache that was cleared during a store stays empty")
    func cleared() async throws {
        try await retrieve(30) { _ in cache.clearMemoryCache() }
        for index in 0..<30 { #expect(try await cache.imageCachedType(forKey: "\(index)") == .disk) }
    }

    @Test("An image is removed while equal bytes are stored elsewhere")
    func equalBytes() async throws {
        let bytes = try ManagerFixture.fixture("png/one-pixel.png")
        let source = Source.provider(CountingProvider("key", bytes))
        try await retrieve(100) { _ in
            _ = try await fixture.manager.retrieveImage(with: source, options: ManagerFixture.options())
            #expect(try await cache.removeImage(forKey: "key").entries == 1)
        }
    }

    @Test("Removing one image leaves the others in memory")
    func others() async throws {
        let image = try ImageDecoder.decode(ManagerFixture.fixture("png/one-pixel.png"))
        for key in ["a", "b", "c", "d"] { _ = await cache.store(image, forKey: key) }
        _ = await cache.store(image, forKey: "a", processorIdentifier: "blur:2")
        _ = await cache.store(image, forKey: "memory", toDisk: false)
        _ = try await cache.removeImage(forKey: "b")
        _ = try await cache.removeImage(forKey: "a", processorIdentifier: "blur:2")
        var selection = CacheSelection()
        selection.glob = "c"
        _ = try await cache.remove(selection)
        #expect(try await isGone("a", "blur:2"))
        #expect(try await isGone("b"))
        #expect(try await isGone("c"))
        #expect(try await cache.imageCachedType(forKey: "a") == .memory)
        #expect(try await cache.imageCachedType(forKey: "d") == .memory)
        #expect(try await cache.imageCachedType(forKey: "memory") == .memory)
        selection.glob = "mem*"
        _ = try await cache.remove(selection)
        #expect(try await isGone("memory"))
    }
}
