import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Credentials and alternative sources", .bounded)
struct AlternativeIdentityTests {
    private let transport: ScriptedTransport
    private let manager: KingfisherManager
    private let fixture: ManagerFixture

    init() throws {
        let body = try ManagerFixture.fixture("png/rgb.png")
        transport = ScriptedTransport { request, _ in
            request.url.contains("/first") ? .init(status: 404) : .init(body: body)
        }
        fixture = try ManagerFixture(transport: transport)
        manager = fixture.manager
    }

    private func ask(_ alternative: String, _ source: String = "http://h/first.png") async throws -> TransferRequest {
        let url = try RequestURL(alternative)
        let options = ManagerFixture.options {
            $0.alternativeSources = [.network(url)]
            $0.request.credentials = Credentials(user: "ann", password: "secret")
            $0.request.headers = [
                ("authorization", "Bearer secret"), ("COOKIE", "secret"), ("X-Api-Key", "secret"),
                ("Accept", "image/png"),
                ("Accept-Language", "de"),
            ]
        }
        _ = try await manager.retrieveImage(with: .network(RequestURL(source)), options: options)
        return try #require(transport.requests.last)
    }

    @Test(
        "Another origin gets no secrets of the first one",
        arguments: ["http://other/b.png", "https://h/b.png", "http://h:81/b.png"])
    func otherOrigin(alternative: String) async throws {
        let request = try await ask(alternative)
        #expect(request.url == alternative)
        #expect(request.options.credentials == nil)
        #expect(request.headers.map(\.name) == ["Accept", "Accept-Language"])
        var accepting = RequestOptions()
        accepting.headers = [("Accept", "image/png")]
        let key = try Source.network(RequestURL(alternative)).cacheKey(for: accepting)
        #expect(try await manager.cache.isCached(forKey: key), "what no secret has brought is kept for everybody")
    }

    @Test("An alternative on the same origin gets the secrets")
    func sameOrigin() async throws {
        let request = try await ask("http://H:80/b.png")
        #expect(request.options.credentials?.user == "ann")
        #expect(request.headers.count == 5)
    }

    @Test("An alternative's own user info is sent")
    func userInfo() async throws {
        let request = try await ask("http://bob:word@other/b.png")
        #expect(request.options.credentials == .init(user: "bob", password: "word"))
    }

    @Test("A modifier takes secrets to another origin only explicitly")
    func modifier() async throws {
        let options = ManagerFixture.options {
            $0.request.credentials = Credentials(user: "ann", password: "secret")
            $0.request.headers = [("X-Api-Key", "secret"), ("Accept", "image/png")]
            $0.request.modifier = AnyModifier { request in
                var request = request
                request.url = try? RequestURL("http://cdn/a.png")
                request.headers.append(("X-Signature", "own"))
                return request
            }
        }
        _ = try await manager.retrieveImage(with: .network(RequestURL("http://h/a.png")), options: options)
        let request = try #require(transport.requests.last)
        #expect(request.url == "http://cdn/a.png" && request.options.credentials == nil)
        #expect(request.headers.map(\.name) == ["Accept", "X-Signature"])
    }
}
