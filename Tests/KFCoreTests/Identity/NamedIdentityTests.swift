import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Named modifiers", .bounded)
struct NamedIdentityTests {
    private let server: IdentityFixture

    init() throws { server = try IdentityFixture() }

    /// Signs each request differently, on behalf of one user.
    private final class Signer: ImageDownloadRequestModifier {
        let cacheIdentity: String?
        private let user: String
        private let runs = Mutex(0)

        init(_ user: String, identity: String?) {
            self.user = user
            cacheIdentity = identity
        }

        var count: Int { runs.withLock { $0 } }

        func modified(for request: ImageDownloadRequest) async -> ImageDownloadRequest? {
            var request = request
            let number = runs.withLock { runs in
                runs += 1
                return runs
            }
            request.headers.append(("X-Signature", "\(user) \(number)"))
            return request
        }
    }

    @Test("A named modifier runs only for transfers")
    func named() async throws {
        let signers = ["ann", "bob"].map { Signer($0, identity: "id of \($0)") }
        for expected in [RetrievalWay.fetched, .disk] {
            for (signer, user) in zip(signers, ["ann", "bob"]) {
                let result = try await server.retrieve { $0.request.modifier = signer }
                #expect(result.way == expected && result.user == user)
                #expect(!result.key.contains(user))
            }
        }
        #expect(signers.map(\.count) == [1, 1])
        #expect(try await server.retrieve().user == "")
    }

    @Test("An unnamed modifier runs before each look-up")
    func unnamed() async throws {
        let runs = Mutex(0)
        let modifier = AnyModifier { request in
            runs.withLock { $0 += 1 }
            var request = request
            request.headers.append(("X-User", "ann"))
            return request
        }
        let ways = [
            try await server.retrieve { $0.request.modifier = modifier }.way,
            try await server.retrieve { $0.request.modifier = modifier }.way,
            try await server.retrieve {
                $0.request.modifier = modifier
                $0.onlyFromCache = true
            }.way,
        ]
        #expect(ways == [.fetched, .disk, .disk] && runs.withLock { $0 } == 3)
        await #expect(throws: KingfisherError.requestError(reason: .emptyRequest)) {
            try await server.retrieve { $0.request.modifier = AnyModifier { _ in nil } }
        }
    }

    @Test("A modifier that signs each request gets no cached image")
    func unstable() async throws {
        let signer = Signer("ann", identity: nil)
        for _ in 1...2 {
            let result = try await server.retrieve { $0.request.modifier = signer }
            #expect(result.way == .fetched && result.user == "ann")
        }
    }

    @Test("A modifier with an empty name shares the cached image")
    func empty() async throws {
        #expect(try await server.retrieve { $0.request.modifier = Signer("x", identity: "") }.key == "http://h/a.png")
        #expect(try await server.retrieve().way == .disk)
        server.transport.close()
        let other = try RequestURL("http://h/b.png")
        let tasks = [Signer("x", identity: ""), nil, Signer("x", identity: "")].map { signer in
            Task { [server] in
                try await server.manager.retrieveImage(
                    with: .network(other), options: ManagerFixture.options { $0.request.modifier = signer })
            }
        }
        await server.transport.requested(3)
        #expect(await eventually { server.manager.downloader.work.waiterCount == 3 })
        server.transport.open()
        for task in tasks { _ = try await task.value }
        #expect(server.transport.requests.count == 3)
    }

    @Test("A modifier's name keeps images under a custom key apart")
    func namedKeys() throws {
        let source = Source.network(ImageResource(downloadURL: try RequestURL("http://h/a.png"), cacheKey: "mine"))
        func key(_ identity: String?, _ header: String = "x") -> String {
            var request = RequestOptions()
            request.headers = [("Authorization", header)]
            request.modifier = AnyModifier(cacheIdentity: identity) { $0 }
            return source.cacheKey(for: request)
        }
        #expect(key("") == "mine" && key(nil) == "mine")
        #expect(key("ann").hasPrefix("mine#user=") && key("ann") != key("bob"))
        #expect(key("ann") == key("ann", "another token"))
    }

    @Test("The plan of a retrieval follows the modifier")
    func explaining() async throws {
        let url = Source.network(try RequestURL("http://h/a.png"))
        let ann = ManagerFixture.options { $0.request.modifier = IdentityFixture.modifier("ann") }
        let named = ManagerFixture.options { $0.request.modifier = Signer("bob", identity: "bob") }
        _ = try await server.manager.retrieveImage(with: url, options: ManagerFixture.options())
        #expect(try server.manager.retrieveCachedImage(with: url, options: ann) == nil)
        #expect(try server.manager.retrieveCachedImage(with: url, options: named) == nil)
        #expect(try await server.manager.explain(url, options: ann).plan.step == .request)
        let result = try await server.manager.retrieveImage(with: url, options: ann)
        let explanation = try await server.manager.explain(url, options: ann)
        #expect(explanation.plan.step == .disk && explanation.key == result.key)
        _ = try await server.manager.retrieveImage(with: url, options: named)
        #expect(try await server.manager.retrieveCachedImage(with: url, options: named)?.data() == server.image("bob"))
    }
}

@Suite("Images influenced by handlers and responders", .bounded)
struct PersonalImageTests {
    private let body = FixturesDirectory.image("png/rgb.png")

    private func fixture(redirects: Bool = false, challenges: Bool = false) throws -> ManagerFixture {
        let image = ScriptedTransport.Answer(body: body, challenges: challenges)
        return try ManagerFixture(
            transport: ScriptedTransport { request, _ in
                redirects && request.url == "http://h/a.png"
                    ? .init(status: 302, headers: [("Location", "http://h/to.png")]) : image
            })
    }

    private func ways(
        _ fixture: ManagerFixture, waits: Bool = true, processor: String? = nil, _ handler: AnyRedirectHandler? = nil
    ) async throws -> [RetrievalWay] {
        let source = Source.network(try RequestURL("http://h/a.png"))
        let chain = try processor.map { try ProcessorParser.parse($0) }
        var ways: [RetrievalWay] = []
        for _ in 1...2 {
            let options = ManagerFixture.options {
                $0.request.redirectHandler = handler
                $0.waitForCache = waits
                $0.memoryCacheExpiration = nil
                $0.cacheOriginalImage = true
                if let chain { $0.processor = chain }
            }
            ways.append(try await fixture.manager.retrieveImage(with: source, options: options).way)
            await fixture.manager.background.wait()
        }
        return ways
    }

    private static func changing(_ identity: String?) -> AnyRedirectHandler {
        AnyRedirectHandler(cacheIdentity: identity) { _, _, request in
            var request = request
            request.headers.append(("Authorization", "mine"))
            return request
        }
    }

    @Test("An image behind a changed redirect is not cached", arguments: [nil, "resize:8x8"], [true, false])
    func changedRedirect(processor: String?, waits: Bool) async throws {
        let fixture = try fixture(redirects: true)
        #expect(
            try await ways(fixture, waits: waits, processor: processor, Self.changing(nil)) == [.fetched, .fetched])
        #expect(try await fixture.manager.cache.entries(forKey: "http://h/a.png").isEmpty)
        #expect(try await ways(fixture).first == .fetched)
    }

    @Test("An image behind an unchanged redirect is cached")
    func unchangedRedirect() async throws {
        let looking = AnyRedirectHandler { _, _, request in
            var request = request
            request.headers.append(("User-Agent", "x"))
            return request
        }
        #expect(try await ways(fixture(redirects: true), looking).last == .memory)
        #expect(try await ways(fixture(redirects: false), Self.changing(nil)).last == .memory)
    }

    @Test("A named redirect handler caches under its name")
    func namedHandler() async throws {
        let fixture = try fixture(redirects: true)
        #expect(try await ways(fixture, Self.changing("ann")) == [.fetched, .memory])
        #expect(try await ways(fixture, Self.changing("bob")).first == .fetched)
        #expect(try await fixture.manager.cache.entries(forKey: "http://h/a.png").isEmpty)
    }

    @Test("Variants of an image behind a changed redirect are not cached")
    func variants() async throws {
        let fixture = try fixture(redirects: true)
        let source = Source.network(try RequestURL("http://h/a.png"))
        let chains = try ["resize:8x8", "resize:9x9"].map { try ProcessorParser.parse($0) }
        let forms = chains.map { chain in
            ManagerFixture.options {
                $0.processor = chain
                $0.request.redirectHandler = Self.changing(nil)
            }
        }
        for _ in 1...2 {
            let results = await fixture.manager.retrieveVariants(of: source, options: forms)
            #expect(try results.map { try $0.get().way } == [.fetched, .fetched])
        }
    }

    @Test("An image behind a responder's credential is cached under its name only")
    func responders() async throws {
        let ann = DownloadChallengeAnswer.useCredential(Credentials(user: "ann", password: "pw"))
        for (responder, expected) in [
            (Responder(ann), RetrievalWay.fetched), (Responder(.trust), .fetched),
            (Responder(.performDefaultHandling), .memory), (Responder(ann, identity: "ann"), .memory),
        ] {
            let fixture = try fixture(challenges: true)
            fixture.manager.downloader.authenticationChallengeResponder = responder
            #expect(try await ways(fixture) == [.fetched, expected])
            fixture.manager.downloader.authenticationChallengeResponder = nil
            let isShared = try await fixture.manager.cache.isCached(forKey: "http://h/a.png")
            #expect(isShared == (expected == .memory && responder.cacheIdentity == nil))
        }
    }
}
