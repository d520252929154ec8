import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Removing images", .bounded)
struct CacheRemovalTests {
    @Test("An image is removed while equal bytes are stored under another key")
    func equalBytes() async throws {
        let fixture = try ManagerFixture()
        let manager = fixture.manager
        let bytes = try ManagerFixture.fixture("png/one-pixel.png")
        let options = ManagerFixture.options()
        let early = ManagerFixture.options { $0.waitForCache = false }
        let source = Source.provider(CountingProvider("key", bytes))
        for number in 0..<100 {
            _ = try await manager.retrieveImage(with: source, options: options)
            let other = Source.provider(CountingProvider("\(number)", bytes))
            _ = try await manager.retrieveImage(with: other, options: early)
            #expect(try await manager.cache.removeImage(forKey: "key").entries == 1)
        }
        await manager.background.finish()
    }
}
