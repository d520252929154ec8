import Glibc
import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("stale-while-revalidate: what expired serves at once, and is asked for meanwhile", .bounded)
struct StaleWhileRevalidateTests {
    private let source: Source

    init() throws { source = .network(try RequestURL("http://h/a.png")) }

    /// One picture at first, another from the second request on; conditions are confirmed if `confirms`.
    private func fixture(confirms: Bool) throws -> (ManagerFixture, ScriptedTransport) {
        let bodies = [try ManagerFixture.fixture("png/rgb.png"), try ManagerFixture.fixture("png/grey.png")]
        let fields = [
            (name: "Cache-Control", value: "max-age=10, stale-while-revalidate=30"), ("ETag", "\"1\""),
        ]
        let transport = ScriptedTransport { request, number in
            if request.isConditional, confirms { return .init(status: 304, headers: fields) }
            return .init(headers: fields, body: bodies[min(number, 1)])
        }
        return (try ManagerFixture(transport: transport), transport)
    }

    private func options(_ change: (inout KingfisherOptions) -> Void = { _ in }) -> KingfisherOptions {
        ManagerFixture.options {
            $0.cachePolicy = .http
            change(&$0)
        }
    }

    private func get(_ fixture: ManagerFixture, _ options: KingfisherOptions) async throws -> RetrieveImageResult {
        try await fixture.manager.retrieveImage(with: source, options: options)
    }

    @Test("It serves though the server does not answer, once; then the confirmed one is fresh")
    func confirmed() async throws {
        let (fixture, transport) = try fixture(confirms: true)
        _ = try await get(fixture, options())
        fixture.advance(seconds: 11)
        #expect(try await fixture.manager.explain(source, options: options()).plan.step == .stale)
        transport.close()
        for _ in 0..<3 { #expect(try await get(fixture, options()).way == .stale) }
        #expect(fixture.manager.isRevalidating)
        await transport.requested(2)
        transport.open()
        await fixture.manager.finishRevalidating(within: .seconds(60))
        #expect(!fixture.manager.isRevalidating)
        #expect(try await get(fixture, options()).way == .disk)
        #expect(transport.requests.count == 2)
    }

    @Test("When another image comes, the path that was given out stays good until the next cleaning")
    func replaced() async throws {
        let (fixture, _) = try fixture(confirms: false)
        let first = try await get(fixture, options())
        fixture.advance(seconds: 11)
        let stale = try await get(fixture, options())
        #expect(stale.way == .stale && stale.facts.sha256 == first.facts.sha256)
        let path = try #require(stale.cachedPath)
        await fixture.manager.finishRevalidating(within: .seconds(60))
        #expect(access(path, R_OK) == 0)
        let next = try await get(fixture, options())
        #expect(next.way == .disk && next.facts.sha256 != first.facts.sha256)
        #expect(try await fixture.manager.cache.verify { _ in }?.isClean == true)
        #expect(try await fixture.manager.cache.removeExpired().entries == 1)
        #expect(access(path, R_OK) != 0)
        #expect(try await get(fixture, options()).way == .disk)
    }

    @Test("Past the window, and under the plain policy, the server is asked first")
    func window() async throws {
        let (fixture, transport) = try fixture(confirms: true)
        _ = try await get(fixture, options())
        fixture.advance(seconds: 41)
        #expect(try await get(fixture, options()).way == .revalidated)
        let plain = options {
            $0.cachePolicy = .timeToLive
            $0.diskCacheExpiration = .seconds(10)
        }
        _ = try await get(fixture, plain)
        fixture.advance(seconds: 11)
        #expect(try await get(fixture, plain).way == .revalidated)
        #expect(transport.requests.count == 3)
    }

    @Test("A prefetcher asks as a part of its run, and a failure takes nothing back")
    func others() async throws {
        let (fixture, transport) = try fixture(confirms: true)
        _ = try await get(fixture, options())
        fixture.advance(seconds: 11)
        _ = await ImagePrefetcher(manager: fixture.manager, forms: [options()]).prefetch([source])
        #expect(transport.requests.count == 2)
        #expect(!fixture.manager.isRevalidating)
        #expect(try await get(fixture, options()).way == .disk)
    }

    @Test("Waiting for a server that does not answer is bounded")
    func bounded() async throws {
        let (fixture, transport) = try fixture(confirms: true)
        _ = try await get(fixture, options())
        fixture.advance(seconds: 11)
        transport.close()
        #expect(try await get(fixture, options()).way == .stale)
        await transport.requested(2)
        await fixture.manager.finishRevalidating(within: .milliseconds(1))
        #expect(!fixture.manager.isRevalidating)
        transport.open()
    }
}
