import Glibc
import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Images served stale while they are revalidated", .bounded)
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

    @Test("A stale image is served while its server is silent")
    func confirmed() async throws {
        let (fixture, transport) = try fixture(confirms: true)
        _ = try await fixture.get(.http())
        fixture.advance(seconds: 11)
        #expect(try await fixture.manager.explain(source, options: .http()).plan.step == .stale)
        transport.close()
        for _ in 0..<3 { #expect(try await fixture.get(.http()).way == .stale) }
        #expect(fixture.manager.isRevalidating)
        await transport.requested(2)
        transport.open()
        await fixture.manager.finishRevalidating(within: .seconds(60))
        #expect(!fixture.manager.isRevalidating)
        #expect(try await fixture.get(.http()).way == .disk)
        #expect(transport.requests.count == 2)
    }

    @Test("The path of a replaced image is valid until the next cleaning")
    func replaced() async throws {
        let (fixture, _) = try fixture(confirms: false)
        let first = try await fixture.get(.http())
        fixture.advance(seconds: 11)
        let stale = try await fixture.get(.http())
        #expect(stale.way == .stale && stale.facts.sha256 == first.facts.sha256)
        let path = try #require(stale.cachedPath)
        await fixture.manager.finishRevalidating(within: .seconds(60))
        #expect(access(path, R_OK) == 0)
        let next = try await fixture.get(.http())
        #expect(next.way == .disk && next.facts.sha256 != first.facts.sha256)
        #expect(try await fixture.manager.cache.verify { _ in }?.isClean == true)
        #expect(try await fixture.manager.cache.removeExpired().entries == 1)
        #expect(access(path, R_OK) != 0)
        #expect(try await fixture.get(.http()).way == .disk)
    }

    @Test("The server is asked first after the window")
    func window() async throws {
        let (fixture, transport) = try fixture(confirms: true)
        _ = try await fixture.get(.http())
        fixture.advance(seconds: 41)
        #expect(try await fixture.get(.http()).way == .revalidated)
        var options = ManagerFixture.options { $0.diskCacheExpiration = .seconds(10) }
        _ = try await fixture.get(options)
        fixture.advance(seconds: 11)
        #expect(try await fixture.get(options).way == .revalidated, "the server's window is not the caller's")
        #expect(transport.requests.count == 3)
        options.staleWhileRevalidate = .seconds(30)
        fixture.advance(seconds: 39)
        #expect(try await fixture.get(options).way == .stale)
        await fixture.manager.background.wait()
        #expect(try await fixture.get(options).way == .disk)
        fixture.advance(seconds: 41)
        #expect(try await fixture.get(options).way == .revalidated)
        #expect(transport.requests.map(\.isConditional) == [false, true, true, true, true])
    }

    @Test("A prefetcher revalidates a stale image itself")
    func others() async throws {
        let (fixture, transport) = try fixture(confirms: true)
        _ = try await fixture.get(.http())
        fixture.advance(seconds: 11)
        _ = await ImagePrefetcher(manager: fixture.manager, forms: [.http()]).prefetch([source])
        #expect(transport.requests.count == 2)
        #expect(!fixture.manager.isRevalidating)
        #expect(try await fixture.get(.http()).way == .disk)
    }

    @Test("The wait for a silent server is bounded")
    func bounded() async throws {
        let (fixture, transport) = try fixture(confirms: true)
        _ = try await fixture.get(.http())
        fixture.advance(seconds: 11)
        transport.close()
        #expect(try await fixture.get(.http()).way == .stale)
        await transport.requested(2)
        await fixture.manager.finishRevalidating(within: .milliseconds(1))
        #expect(!fixture.manager.isRevalidating)
        transport.open()
    }
}
