import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Counting reads", .bounded)
struct ReadCountTests {
    @Test("The summary of a living process shows its own hits and misses")
    func living() async throws {
        let fixture = try ManagerFixture()
        let bytes = try ManagerFixture.fixture("png/one-pixel.png")
        for _ in 0..<4 {
            _ = try await fixture.manager.retrieveImage(
                with: .provider(RawImageDataProvider(data: bytes)), options: ManagerFixture.options())
        }
        let reads = try #require(try await fixture.manager.cache.summary()).totals.reads
        #expect(reads.hits == 3)
        #expect(reads.misses == 1)
        await fixture.manager.shutdown()
        #expect(try await fixture.manager.cache.summary()?.totals.reads.hits == 3)
    }
}
