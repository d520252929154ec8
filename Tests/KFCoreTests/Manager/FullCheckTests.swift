import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The full check of new images", .bounded)
struct FullCheckTests {
    @Test("The bytes of a provider are checked too", arguments: [true, false])
    func provider(isDamaged: Bool) async throws {
        let fixture = try ManagerFixture()
        let bytes = try isDamaged ? DamagedPictures.make("gif") : ManagerFixture.fixture("gif/animated.gif")
        let source = Source.provider(CountingProvider("a", bytes))
        let error = await failure {
            try await fixture.manager.retrieveImage(with: source, options: [.check(.full), .waitForCache])
        }
        #expect(error?.errorCode == (isDamaged ? 2008 : nil))
    }

    @Test("An unchecked original that cannot be processed is fetched again")
    func storedBefore() async throws {
        let (fixture, transport) = try answering(
            .init(body: DamagedPictures.make("png")), .init(body: ManagerFixture.fixture("png/rgb.png")))
        #expect(try await fixture.get().check == .structure)
        let result = try await fixture.get(ManagerFixture.resized { $0.check = .full })
        #expect(result.way == .fetched && result.check == .full)
        #expect(transport.requests.count == 2)
    }
}
