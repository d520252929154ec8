import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Shared downloads", .bounded)
struct JoiningTests {
    private let server: IdentityFixture

    init() throws { server = try IdentityFixture() }

    typealias Change = @Sendable (inout KingfisherOptions) -> Void

    private static let changes: [(name: String, change: Change)] = [
        ("check", { $0.check = .full }), ("maxBytes", { $0.request.maxBytes = 10 << 20 }),
        ("decodeLimits", { $0.decodeLimits.maxPixels = 5_000_000 }),
        ("trustedHosts", { $0.request.trustedHosts = ["h"] }),
        ("deniesPrivateAddresses", { $0.request.deniesPrivateAddresses = true }),
        ("caFile", { $0.request.caFile = "/ca.pem" }), ("proxy", { $0.request.proxy = "http://p:1" }),
        ("timeout", { $0.request.timeout = .seconds(1) }), ("maxTime", { $0.request.maxTime = .seconds(1) }),
        ("maxRedirects", { $0.request.maxRedirects = 0 }), ("forcesHTTP11", { $0.request.forcesHTTP11 = true }),
        ("redirectHandler", { $0.request.redirectHandler = AnyRedirectHandler { _, _, request in request } }),
        ("onDataReceived", { $0.request.onDataReceived = { _ in } }),
        ("progressiveJPEG", { $0.progressiveJPEG = { _ in } }),
        ("headers", { $0.request.headers = [("Referer", "x")] }), ("userAgent", { $0.request.userAgent = "x" }),
        ("netrcFile", { $0.request.netrcFile = "/nonexistent" }),
    ]

    private func count(_ first: @escaping Change, _ second: @escaping Change, expecting: Int) async throws -> Int {
        server.transport.close()
        let tasks = [first, second].map { (change: @escaping Change) in
            Task { [server] in try await server.retrieve { change(&$0) } }
        }
        await server.transport.requested(expecting)
        #expect(await eventually { server.manager.downloader.work.waiterCount == 2 })
        server.transport.open()
        for task in tasks { #expect(try await task.value.user == "") }
        return server.transport.requests.count
    }

    @Test("Calls with other terms do not share a download", arguments: changes.indices)
    func terms(index: Int) async throws {
        let count = try await count({ _ in }, Self.changes[index].change, expecting: 2)
        #expect(count == 2, "\(Self.changes[index].name)")
    }

    @Test("Calls with the same terms share a download")
    func same() async throws {
        let count = try await count(
            { $0.request.headers = [("A", "1"), ("b", "2")] },
            {
                $0.request.headers = [("B", "2"), ("a", " 1")]
                $0.request.priority = 0.9
            }, expecting: 1)
        #expect(count == 1)
    }

    @Test("Calls with redirect handlers never share a download")
    func handlers() async throws {
        let handler: Change = { $0.request.redirectHandler = AnyRedirectHandler { _, _, request in request } }
        #expect(try await count(handler, handler, expecting: 2) == 2)
    }

    @Test("Two caches behind one downloader each get a file")
    func caches() async throws {
        let other = try ManagerFixture()
        let second = KingfisherManager(cache: other.manager.cache, downloader: server.manager.downloader)
        server.transport.close()
        let url = try RequestURL("http://h/a.png")
        let tasks = [server.manager, second].map { manager in
            Task { try await manager.retrieveImage(with: .network(url), options: ManagerFixture.options()) }
        }
        await server.transport.requested(2)
        server.transport.open()
        let paths = [try await tasks[0].value.cachedPath, try await tasks[1].value.cachedPath]
        #expect(paths[0]?.hasPrefix(server.fixture.directory.url.path) == true)
        #expect(paths[1]?.hasPrefix(other.directory.url.path) == true)
        #expect(try await other.manager.cache.isCached(forKey: "http://h/a.png"))
    }

    @Test("A call's limits do not refuse an image to another call")
    func providers() async throws {
        let provider = CountingProvider("key", server.image("ann"))
        let strict = Task { [server] in
            try await server.manager.retrieveImage(
                with: .provider(provider), options: ManagerFixture.options { $0.decodeLimits.maxPixels = 4 })
        }
        // Behind a stored image the strict call would be a cache hit, which no limit refuses.
        #expect(await eventually { provider.count > 0 })
        let result = try await server.manager.retrieveImage(
            with: .provider(provider), options: ManagerFixture.options())
        #expect(result.way == .fetched)
        await #expect(throws: KingfisherError.self) { try await strict.value }
    }
}
