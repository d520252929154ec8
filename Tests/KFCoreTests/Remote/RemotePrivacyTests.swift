import Foundation
import KFNetwork
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Private images and remotes", .bounded, .serialized)
struct RemotePrivacyTests {
    private let layer = MemoryLayer()
    private let picture = FixturesDirectory.image("png/rgba.png")

    private func machine(
        _ headers: [(name: String, value: String)] = [], address: String = "127.0.0.1", _ layer: MemoryLayer? = nil
    ) throws -> RemoteFixture {
        try RemoteFixture(
            layer ?? self.layer,
            transport: ScriptedTransport(.init(headers: headers, body: picture, address: address)), writes: true)
    }

    /// Fetches an image, and expects that nothing was asked or uploaded.
    private func expectPrivate(
        _ url: String = RemoteFixture.url, cacheKey: String? = nil, _ comment: Comment? = nil,
        _ change: (inout KingfisherOptions) -> Void
    ) async throws {
        let machine = try machine()
        for processor in ["", "resize:20x10"] {
            let chain = try ProcessorParser.parse(processor.isEmpty ? "crop:5x5" : processor)
            let options = ManagerFixture.options {
                if !processor.isEmpty { $0.processor = chain }
                $0.cacheOriginalImage = true
                change(&$0)
            }
            let resource = ImageResource(downloadURL: try RequestURL(url), cacheKey: cacheKey)
            let result = try await machine.manager.retrieveImage(with: .network(resource), options: options)
            #expect([.fetched, .derived].contains(result.way), comment)
        }
        await machine.drain()
        #expect(layer.log.isEmpty, comment)
        #expect(machine.statistics == RemoteCounts(), comment)
    }

    @Test("Images of URLs with user info stay local", arguments: ["http://ann:word@h/a.png", "http://ann@h/a.png"])
    func userInfo(_ url: String) async throws { try await expectPrivate(url) { _ in } }

    private typealias Change = (name: String, change: @Sendable (inout RequestOptions) -> Void)

    private static let personal: [Change] = {
        var changes: [Change] = [
            ("credentials", { $0.credentials = Credentials(user: "ann", password: "word") }),
            ("netrc file", { $0.netrcFile = "/nonexistent" }), ("cookie jar", { $0.cookieJar = "/nonexistent" }),
        ]
        for name in ["Authorization", "authorization", "Cookie", "X-Api-Key", "X-Forwarded-For", "Accept"] {
            changes.append((name, { $0.headers = [("Accept-Language", "de"), (name, "secret")] }))
        }
        for identity in [nil, "", "ann"] {
            let handler = AnyRedirectHandler(cacheIdentity: identity) { _, _, request in request }
            changes.append(("modifier", { $0.modifier = AnyModifier(cacheIdentity: identity) { $0 } }))
            changes.append(("handler", { $0.redirectHandler = handler }))
        }
        return changes
    }()

    @Test("Images fetched with something of one user stay local", arguments: personal.indices, [nil, "mine"])
    func ofOneUser(_ index: Int, _ key: String?) async throws {
        let (name, change) = Self.personal[index]
        try await expectPrivate(cacheKey: key, "\(name)") { change(&$0.request) }
    }

    @Test("Images fetched with a named responder stay local", arguments: [nil, "mine"])
    func responder(_ key: String?) async throws {
        let machine = try machine()
        let responder = Responder(identity: "ann")
        machine.manager.downloader.authenticationChallengeResponder = responder
        let resource = ImageResource(downloadURL: try RequestURL(RemoteFixture.url), cacheKey: key)
        _ = try await machine.manager.retrieveImage(with: .network(resource), options: ManagerFixture.options())
        await machine.drain()
        #expect(layer.log.isEmpty)
    }

    @Test("Images that needed a responder's credential stay local")
    func unnamedResponder() async throws {
        let fixture = try ManagerFixture(
            transport: ScriptedTransport(.init(body: picture, challenges: true)),
            caching: { [layer] in
                $0.remotes = [layer]
                $0.writesToRemote = true
            })
        let responder = Responder(.useCredential(Credentials(user: "ann", password: "word")))
        fixture.manager.downloader.authenticationChallengeResponder = responder
        for options in [ManagerFixture.options(), try ManagerFixture.resized { $0.cacheOriginalImage = true }] {
            #expect(try await fixture.get(options).way == .fetched)
        }
        await fixture.manager.cache.close()
        #expect(layer.blobs.isEmpty && !layer.log.contains { $0.hasPrefix("write") || $0.hasPrefix("check") })
    }

    @Test("Local images are never uploaded")
    func providers() async throws {
        let machine = try machine()
        let directory = try TemporaryDirectory()
        let file = try directory.write("a.png", Data(picture))
        let base64 = Data(picture).base64EncodedString()
        let sources: [Source] = [
            .provider(CountingProvider(RemoteFixture.url, picture)),
            .provider(try LocalFileImageDataProvider(path: file.path, cacheKey: RemoteFixture.url)),
            .provider(Base64ImageDataProvider(base64String: base64, cacheKey: RemoteFixture.url)),
            .provider(RawImageDataProvider(data: picture, cacheKey: RemoteFixture.url)),
        ]
        for source in sources {
            for chain in [nil, "resize:20x10"] {
                let processor = try chain.map { try ProcessorParser.parse($0) }
                let options = ManagerFixture.options { if let processor { $0.processor = processor } }
                _ = try await machine.manager.retrieveImage(with: source, options: options)
            }
        }
        await machine.drain()
        #expect(layer.log.isEmpty && layer.blobs.isEmpty)
    }

    @Test("Neutral headers do not keep an image local")
    func neutral() async throws {
        let machine = try machine()
        _ = try await machine.get {
            $0.request.headers = [("Accept-Language", "de"), ("User-Agent", "x"), ("Referer", "http://h/")]
        }
        _ = try await machine.get("http://h/b.png") {
            $0.request.deniesPrivateAddresses = true
            $0.request.trustedHosts = ["h"]
            $0.request.proxy = ""
        }
        let resource = ImageResource(downloadURL: try RequestURL("http://h/c.png"), cacheKey: "mine")
        _ = try await machine.manager.retrieveImage(with: .network(resource), options: ManagerFixture.options())
        await machine.drain()
        #expect(machine.statistics.uploaded == 3)
        #expect(layer.entry(EntryKey(key: "mine")) != nil)
        #expect(layer.entry(EntryKey(key: "http://h/b.png")) == nil, "other terms of trust have another key")
    }

    // MARK: Responses

    @Test(
        "Private responses are not uploaded",
        arguments: [
            ("Cache-Control", "private"), ("Cache-Control", "no-store"), ("cache-control", "max-age=60, PRIVATE"),
            ("Cache-Control", "private=\"set-cookie\""), ("Cache-Control", "public, no-store, max-age=9"),
            ("Vary", "*"), ("Vary", "Origin, *"), ("Vary", "*, Origin"),
        ])
    func responses(_ name: String, _ value: String) async throws {
        for policy in CachePolicy.allCases {
            let layer = MemoryLayer()
            let machine = try machine([(name, value), ("ETag", "\"1\"")], layer)
            #expect(try await machine.get { $0.cachePolicy = policy }.way == .fetched)
            let processor = try ProcessorParser.parse("resize:20x10")
            _ = try await machine.get {
                $0.cachePolicy = policy
                $0.processor = processor
            }
            await machine.drain()
            #expect(layer.blobs.isEmpty && !layer.log.contains { $0.hasPrefix("write") }, "\(policy)")
        }
    }

    @Test("A 304 that makes an image private ends its uploads")
    func becomesPrivate() async throws {
        let body = picture
        let machine = try RemoteFixture(
            layer,
            transport: ScriptedTransport { request, _ in
                request.isConditional
                    ? .init(status: 304, headers: [("Cache-Control", "private")])
                    : .init(headers: [("ETag", "\"1\"")], body: body)
            }, writes: true)
        _ = try await machine.get { $0.diskCacheExpiration = .seconds(10) }
        await machine.drain()
        #expect(machine.statistics.uploaded == 1)
        layer.blobs = [:]
        machine.fixture.advance(seconds: 11)
        #expect(try await machine.get().way == .revalidated)
        await machine.drain()
        #expect(machine.statistics.uploaded == 1 && layer.blobs.isEmpty)
    }

    @Test("A user's image is not uploaded after a later processing")
    func processedLater() async throws {
        let machine = try machine()
        // The program says that both have the same image.
        let resource = ImageResource(downloadURL: try RequestURL(RemoteFixture.url), cacheKey: "mine")
        _ = try await machine.manager.retrieveImage(
            with: .network(resource),
            options: ManagerFixture.options {
                $0.request.credentials = Credentials(user: "ann", password: "word")
            })
        let result = try await machine.manager.retrieveImage(
            with: .network(resource),
            options: try ManagerFixture.resized { $0.memoryCacheExpiration = .expired })
        #expect(result.way == .derived)
        await machine.drain()
        #expect(layer.blobs.isEmpty && machine.statistics.uploaded == 0 && machine.statistics.dropped == 0)
    }

    @Test("An entry contains no part of its URL")
    func noURL() async throws {
        let machine = try machine([("ETag", "\"1\""), ("Cache-Control", "max-age=60")])
        let url = "https://h.example/path/image-7.png?X-Amz-Signature=S3CRET&user=ann"
        _ = try await machine.get(url) { $0.cachePolicy = .http }
        _ = try await machine.get(url) { $0.request.ignoredParameters = ["X-Amz-*"] }
        await machine.drain()
        #expect(machine.statistics.uploaded == 2)
        for (path, bytes) in layer.blobs where path.hasPrefix("ac/") {
            let text = String(decoding: bytes, as: UTF8.self)
            for part in ["http", "h.example", "image-7", "path", "S3CRET", "Amz", "ann", "?", "user"] {
                #expect(!text.contains(part), "\(text) has \(part)")
            }
            #expect(path.dropFirst(6).allSatisfy(\.isHexDigit) && path.count == 6 + 64)
        }
        #expect(machine.notices.value.allSatisfy { !$0.contains("S3CRET") })
    }

    // MARK: Reach

    private static let reaches: [NetworkReach] = [.machine, .privateNetwork, .internet]

    @Test(
        "An image is not uploaded beyond the reach of its origin",
        arguments: [("127.0.0.1", 0), ("", 0), ("10.0.0.1", 1), ("fd00::1", 1), ("8.8.8.8", 2)])
    func reach(_ address: String, _ reach: Int) async throws {
        for (distance, layerReach) in Self.reaches.enumerated() {
            let layer = MemoryLayer(reach: layerReach)
            let body = picture
            let machine = try RemoteFixture(
                layer,
                transport: ScriptedTransport { request, _ in
                    request.isConditional
                        ? .init(status: 304, address: address)
                        : .init(headers: [("ETag", "\"1\"")], body: body, address: address)
                }, writes: true)
            _ = try await machine.get { $0.diskCacheExpiration = .seconds(10) }
            await machine.drain()
            let isAllowed = distance <= reach
            #expect(layer.entryCount == (isAllowed ? 1 : 0), "\(layerReach)")
            #expect(layer.objectCount == layer.entryCount)
            #expect(machine.notices.value.count == (isAllowed ? 0 : 1))
            // Nor when the origin confirms it, nor when it is processed.
            machine.fixture.advance(seconds: 11)
            _ = try await machine.get()
            let processor = try ProcessorParser.parse("resize:20x10")
            _ = try await machine.get { $0.processor = processor }
            await machine.drain()
            #expect(layer.entryCount == (isAllowed ? 2 : 0), "\(layerReach)")
            #expect(machine.statistics.dropped == 0 && machine.statistics.errors == 0)
        }
    }

    @Test("An unknown reach is found out before the first upload")
    func unknownReach() async throws {
        for (found, count) in [(NetworkReach.internet, 0), (.machine, 1)] {
            let layer = MemoryLayer(reach: nil)
            layer.answer { [weak layer] request in
                if request.label == "check cas" { layer?.reach = found }
                return nil
            }
            let machine = try machine(address: "10.0.0.1", layer)
            _ = try await machine.get()
            await machine.drain()
            #expect(layer.entryCount == count && layer.objectCount == count)
            #expect(layer.count("check cas") == 1)
        }
    }

    @Test("A remote of unknown reach counts as on the internet")
    func neverKnown() async throws {
        layer.reach = nil
        let machine = try machine(address: "192.168.1.1")
        _ = try await machine.get()
        await machine.drain()
        #expect(layer.blobs.isEmpty)
    }

    @Test("A program's layer is on the internet by default")
    func standard() {
        final class Plain: CacheLayer {
            let name = "plain"
            func start(_ requests: [CacheLayerRequest]) {}
        }
        #expect(Plain().reach == .internet)
    }
}
