import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Purging beside stores in the background", .bounded)
struct PurgingTests {
    private let fixture: ManagerFixture
    private var cache: ImageCache { fixture.manager.cache }

    init() throws { fixture = try ManagerFixture() }

    private func isGone(_ key: String, _ identifier: String = "") async throws -> Bool {
        try await cache.imageCachedType(forKey: key, processorIdentifier: identifier) == .none
    }

    @Test("What is removed right after it was given out does not come back", arguments: [false, true])
    func removed(isProcessed: Bool) async throws {
        let bytes = try ManagerFixture.fixture("png/one-pixel.png")
        var options = KingfisherOptions()
        if isProcessed { options = try ManagerFixture.resized { $0.waitForCache = false } }
        for index in 0..<60 {
            let source = Source.provider(RawImageDataProvider(data: bytes, cacheKey: "\(index)"))
            _ = try await fixture.manager.retrieveImage(with: source, options: options)
            _ = try await cache.removeImage(forKey: "\(index)")
        }
        await fixture.manager.background.finish()
        for index in 0..<60 {
            #expect(try await isGone("\(index)"))
            #expect(try await isGone("\(index)", options.processor.identifier))
        }
    }

    @Test("Nor after everything, or a selection, was removed")
    func removedAll() async throws {
        let bytes = try ManagerFixture.fixture("png/one-pixel.png")
        for index in 0..<30 {
            let source = Source.provider(RawImageDataProvider(data: bytes, cacheKey: "\(index)"))
            _ = try await fixture.manager.retrieveImage(with: source, options: KingfisherOptions())
            if index % 2 == 0 {
                _ = try await cache.removeAll()
            } else {
                var selection = CacheSelection()
                selection.glob = "\(index)"
                _ = try await cache.remove(selection)
            }
        }
        await fixture.manager.background.finish()
        for index in 0..<30 { #expect(try await isGone("\(index)")) }
    }

    @Test("What has left memory while it was being stored stays out of memory")
    func cleared() async throws {
        let bytes = try ManagerFixture.fixture("png/one-pixel.png")
        for index in 0..<30 {
            let source = Source.provider(RawImageDataProvider(data: bytes, cacheKey: "\(index)"))
            _ = try await fixture.manager.retrieveImage(with: source, options: KingfisherOptions())
            cache.clearMemoryCache()
        }
        await fixture.manager.background.finish()
        for index in 0..<30 { #expect(try await cache.imageCachedType(forKey: "\(index)") == .disk) }
    }

    @Test("Removing one image, or a selection, leaves the others in memory")
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
