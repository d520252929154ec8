import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Under the HTTP policy the server says how long an image is fresh", .bounded)
struct HTTPPolicyTests {
    private func options(_ change: (inout KingfisherOptions) -> Void = { _ in }) -> KingfisherOptions {
        ManagerFixture.options {
            $0.cachePolicy = .http
            change(&$0)
        }
    }

    private func fixture(
        _ fields: [(name: String, value: String)], confirming: [(name: String, value: String)] = []
    ) throws -> (ManagerFixture, ScriptedTransport) {
        let body = try ManagerFixture.fixture("png/rgb.png")
        let transport = ScriptedTransport { request, _ in
            request.isConditional ? .init(status: 304, headers: confirming) : .init(headers: fields, body: body)
        }
        return (try ManagerFixture(transport: transport), transport)
    }

    private func get(_ fixture: ManagerFixture, _ options: KingfisherOptions) async throws -> RetrieveImageResult {
        try await fixture.manager.retrieveImage(with: .network(RequestURL("http://h/a.png")), options: options)
    }

    @Test("Fresh for max-age, however often it is read, then confirmed; the 304 says how long")
    func maxAge() async throws {
        let (fixture, transport) = try fixture(
            [("Cache-Control", "max-age=60"), ("ETag", "\"1\"")], confirming: [("Cache-Control", "max-age=600")])
        #expect(try await get(fixture, options()).way == .fetched)
        fixture.advance(seconds: 59)
        #expect(try await get(fixture, options()).way == .disk)
        fixture.advance(seconds: 2)
        #expect(try await get(fixture, options()).way == .revalidated)
        fixture.advance(seconds: 599)
        #expect(try await get(fixture, options()).way == .disk)
        #expect(transport.requests.count == 2)
    }

    @Test("no-cache is kept and confirmed each time")
    func noCache() async throws {
        let (fixture, _) = try fixture([("Cache-Control", "no-cache"), ("ETag", "\"1\"")])
        #expect(try await get(fixture, options()).way == .fetched)
        #expect(try await get(fixture, options()).way == .revalidated)
        #expect(try await get(fixture, options()).way == .revalidated)
    }

    @Test("no-store is delivered and not kept, processed or not")
    func noStore() async throws {
        let (fixture, _) = try fixture([("Cache-Control", "no-store"), ("ETag", "\"1\"")])
        for options in [
            options(),
            try ManagerFixture.resized {
                $0.cachePolicy = .http; $0.cacheOriginalImage = true
            },
        ] {
            let result = try await get(fixture, options)
            #expect(result.way == .fetched)
            #expect(result.cachedPath == nil)
            #expect(try await get(fixture, options).way == .fetched)
        }
        #expect(try await fixture.manager.cache.summary()?.totals.entries == 0)
    }

    @Test("must-revalidate never serves stale, others do when they are allowed")
    func stale() async throws {
        for (control, way) in [
            ("max-age=1, must-revalidate", nil), ("max-age=1, stale-if-error=60", RetrievalWay.stale),
        ] {
            let body = try ManagerFixture.fixture("png/rgb.png")
            let transport = ScriptedTransport { _, number in
                number == 0 ? .init(headers: [("Cache-Control", control)], body: body) : .init(status: 500)
            }
            let fixture = try ManagerFixture(transport: transport)
            #expect(try await get(fixture, options()).way == .fetched)
            fixture.advance(seconds: 5)
            #expect((try? await get(fixture, options()))?.way == way)
        }
    }

    @Test("What varies by a header is for requests with the same one")
    func vary() async throws {
        let (fixture, transport) = try fixture([("Cache-Control", "max-age=60"), ("Vary", "Accept-Language")])
        let german = options { $0.request.headers = [("Accept-Language", "de")] }
        let english = options { $0.request.headers = [("Accept-Language", "en")] }
        #expect(try await get(fixture, german).way == .fetched)
        #expect(try await get(fixture, german).way == .disk)
        #expect(try await get(fixture, english).way == .fetched)
        #expect(transport.requests.count == 2)
    }

    @Test("A made image is fresh for as long as its original")
    func derived() async throws {
        let (fixture, _) = try fixture([("Cache-Control", "max-age=60"), ("ETag", "\"1\"")])
        let resized = try ManagerFixture.resized {
            $0.cachePolicy = .http
            $0.memoryCacheExpiration = .expired
        }
        #expect(try await get(fixture, options()).way == .fetched)
        fixture.advance(seconds: 30)
        #expect(try await get(fixture, resized).way == .derived)
        fixture.advance(seconds: 31)
        #expect(try await get(fixture, resized).way == .revalidated)
    }
}
