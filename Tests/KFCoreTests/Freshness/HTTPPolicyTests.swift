import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The HTTP cache policy", .bounded)
struct HTTPPolicyTests {
    private func fixture(
        _ fields: [(name: String, value: String)], confirming: [(name: String, value: String)] = []
    ) throws -> (ManagerFixture, ScriptedTransport) {
        let body = try ManagerFixture.fixture("png/rgb.png")
        let transport = ScriptedTransport { request, _ in
            request.isConditional ? .init(status: 304, headers: confirming) : .init(headers: fields, body: body)
        }
        return (try ManagerFixture(transport: transport), transport)
    }

    @Test("An image is confirmed after its max-age")
    func maxAge() async throws {
        let (fixture, transport) = try fixture(
            [("Cache-Control", "max-age=60"), ("ETag", "\"1\"")], confirming: [("Cache-Control", "max-age=600")])
        #expect(try await fixture.get(.http()).way == .fetched)
        fixture.advance(seconds: 59)
        #expect(try await fixture.get(.http()).way == .disk)
        fixture.advance(seconds: 2)
        #expect(try await fixture.get(.http()).way == .revalidated)
        fixture.advance(seconds: 599)
        #expect(try await fixture.get(.http()).way == .disk)
        #expect(transport.requests.count == 2)
    }

    @Test("A no-cache image is confirmed at each use")
    func noCache() async throws {
        let (fixture, _) = try fixture([("Cache-Control", "no-cache"), ("ETag", "\"1\"")])
        #expect(try await fixture.get(.http()).way == .fetched)
        #expect(try await fixture.get(.http()).way == .revalidated)
        #expect(try await fixture.get(.http()).way == .revalidated)
    }

    @Test("A no-store image is delivered but not stored")
    func noStore() async throws {
        let (fixture, _) = try fixture([("Cache-Control", "no-store"), ("ETag", "\"1\"")])
        for options in [
            KingfisherOptions.http(),
            try ManagerFixture.resized {
                $0.cachePolicy = .http; $0.cacheOriginalImage = true
            },
        ] {
            let result = try await fixture.get(options)
            #expect(result.way == .fetched)
            #expect(result.cachedPath == nil)
            #expect(try await fixture.get(options).way == .fetched)
        }
        #expect(try await fixture.manager.cache.summary()?.totals.entries == 0)
    }

    @Test("A must-revalidate image is never served stale")
    func stale() async throws {
        for (control, way) in [
            ("max-age=1, must-revalidate", nil), ("max-age=1, stale-if-error=60", RetrievalWay.stale),
        ] {
            let body = try ManagerFixture.fixture("png/rgb.png")
            let (fixture, _) = try answering(
                .init(headers: [("Cache-Control", control)], body: body), .init(status: 500))
            #expect(try await fixture.get(.http()).way == .fetched)
            fixture.advance(seconds: 5)
            #expect((try? await fixture.get(.http()))?.way == way)
        }
    }

    @Test("A processed image is fresh as long as its original")
    func derived() async throws {
        let (fixture, _) = try fixture([("Cache-Control", "max-age=60"), ("ETag", "\"1\"")])
        let resized = try ManagerFixture.resized {
            $0.cachePolicy = .http
            $0.memoryCacheExpiration = .expired
        }
        #expect(try await fixture.get(.http()).way == .fetched)
        fixture.advance(seconds: 30)
        #expect(try await fixture.get(resized).way == .derived)
        fixture.advance(seconds: 31)
        #expect(try await fixture.get(resized).way == .revalidated)
    }

    @Test("What is made of a confirmed original is as fresh as the confirmation says")
    func confirmed() async throws {
        let (fixture, transport) = try fixture(
            [("Cache-Control", "max-age=60"), ("ETag", "\"1\"")], confirming: [("Cache-Control", "max-age=600")])
        let resized = try ManagerFixture.resized {
            $0.cachePolicy = .http
            $0.memoryCacheExpiration = .expired
        }
        #expect(try await fixture.get(.http()).way == .fetched)
        fixture.advance(seconds: 61)
        #expect(try await fixture.get(resized).way == .revalidated)
        fixture.advance(seconds: 599)
        #expect(try await fixture.get(resized).way == .disk)
        #expect(transport.requests.count == 2)
    }
}
