import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The full check of new images", .bounded)
struct FullCheckTests {
    @Test(
        "The bytes of a provider are checked too",
        arguments: [true, false])
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
        let damaged = try DamagedPictures.make("png")
        let whole = try ManagerFixture.fixture("png/rgb.png")
        let transport = ScriptedTransport { _, number in .init(body: number == 0 ? damaged : whole) }
        let manager = try ManagerFixture(transport: transport).manager
        let source = Source.network(try RequestURL("http://h/a.png"))
        #expect(try await manager.retrieveImage(with: source, options: ManagerFixture.options()).check == .structure)
        let result = try await manager.retrieveImage(
            with: source, options: ManagerFixture.resized { $0.check = .full })
        #expect(result.way == .fetched && result.check == .full)
        #expect(transport.requests.count == 2)
    }
}
