import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Behaviours: checking what arrives", .bounded)
struct CheckingBehaviourTests {
    private static func refusal(_ work: () async throws(KingfisherError) -> RetrieveImageResult) async -> Int? {
        do throws(KingfisherError) {
            _ = try await work()
            return nil
        } catch {
            return error.errorCode
        }
    }

    @Test("Two calls for one URL, of which one checks fully: two transfers, each with its own end")
    func apart() async throws {
        let transport = ScriptedTransport(.init(body: try DamagedPictures.make("png")))
        let fixture = try ManagerFixture(transport: transport)
        let manager = fixture.manager
        let source = Source.network(try RequestURL("http://h/a.png"))
        transport.close()
        let structure = Task { try await manager.retrieveImage(with: source, options: ManagerFixture.options()) }
        let full = Task {
            await Self.refusal { () async throws(KingfisherError) in
                try await manager.retrieveImage(with: source, options: ManagerFixture.options { $0.check = .full })
            }
        }
        await transport.requested(2)
        transport.open()
        #expect(await full.value == 2008)
        #expect(try await structure.value.check == .structure)
        #expect(transport.requests.count == 2)
    }

    @Test(
        "A provider's bytes are checked as a server's are; the option in a list says the same",
        arguments: [true, false])
    func provider(isDamaged: Bool) async throws {
        let fixture = try ManagerFixture()
        let bytes = try isDamaged ? DamagedPictures.make("gif") : ManagerFixture.fixture("gif/animated.gif")
        let source = Source.provider(CountingProvider("a", bytes))
        let code = await Self.refusal { () async throws(KingfisherError) in
            try await fixture.manager.retrieveImage(with: source, options: [.check(.full), .waitForCache])
        }
        #expect(code == (isDamaged ? 2008 : nil))
    }

    @Test("An original that was stored without the full check, and cannot be processed, is fetched again")
    func storedBefore() async throws {
        let damaged = try DamagedPictures.make("png")
        let whole = try ManagerFixture.fixture("png/rgb.png")
        let transport = ScriptedTransport { _, number in .init(body: number == 0 ? damaged : whole) }
        let manager = try ManagerFixture(transport: transport).manager
        let source = Source.network(try RequestURL("http://h/a.png"))
        _ = try await manager.retrieveImage(with: source, options: ManagerFixture.options())
        let result = try await manager.retrieveImage(
            with: source, options: ManagerFixture.resized { $0.check = .full })
        #expect(result.way == .fetched && result.check == .full)
        #expect(transport.requests.count == 2)
    }
}
