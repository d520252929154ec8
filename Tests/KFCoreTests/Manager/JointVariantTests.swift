import KFImaging
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

/// Several images of a source, beside what single calls bring.
@Suite("Several images follow the rules of one", .bounded)
struct JointVariantTests {
    private static let url = "http://h/a.png"
    private let picture: ScriptedTransport.Answer
    private let other: ScriptedTransport.Answer
    private let processors = ["a", "b"].map { CountingProcessor($0) }

    init() throws {
        picture = .init(headers: [("ETag", "\"1\"")], body: try ManagerFixture.fixture("png/rgb.png"))
        other = .init(headers: [("ETag", "\"2\"")], body: try ManagerFixture.fixture("png/grey.png"))
    }

    private func confirming() -> ScriptedTransport {
        ScriptedTransport { [picture] request, _ in request.isConditional ? .init(status: 304) : picture }
    }

    private func forms(
        plain: Bool, original: Bool = true, _ change: (inout KingfisherOptions) -> Void = { _ in }
    ) -> [KingfisherOptions] {
        var forms = processors.map { processor in
            ManagerFixture.options {
                $0.processor = processor
                $0.diskCacheExpiration = .seconds(10)
                $0.cacheOriginalImage = original
                change(&$0)
            }
        }
        if plain {
            var options = forms[0]
            options.processor = DefaultImageProcessor()
            forms.insert(options, at: 1)
        }
        return forms
    }

    private func get(
        _ fixture: ManagerFixture, _ forms: [KingfisherOptions]
    ) async throws -> [Result<RetrieveImageResult, KingfisherError>] {
        await fixture.manager.retrieveVariants(of: .network(try RequestURL(Self.url)), options: forms)
    }

    private func ways(_ fixture: ManagerFixture, _ forms: [KingfisherOptions]) async throws -> [RetrievalWay] {
        try await get(fixture, forms).map { result in
            let image = try result.get()
            #expect(image.cachedPath != nil && image.attempts <= 1)
            return image.way
        }
    }

    @Test(
        "A 304 confirms all variants, and none is made again",
        arguments: [(true, true), (true, false), (false, true), (false, false)])
    func confirmed(plain: Bool, original: Bool) async throws {
        let transport = confirming()
        let fixture = try ManagerFixture(transport: transport)
        let forms = forms(plain: plain, original: original)
        let all = { (way: RetrievalWay) in [RetrievalWay](repeating: way, count: forms.count) }
        #expect(try await ways(fixture, forms) == all(.fetched))
        fixture.advance(seconds: 11)
        #expect(try await ways(fixture, forms) == all(.revalidated))
        fixture.advance(seconds: 9)
        #expect(try await ways(fixture, forms) == all(.disk))
        let forced = self.forms(plain: plain, original: original) { $0.revalidate = true }
        #expect(try await ways(fixture, forced) == all(.revalidated))
        #expect(transport.requests.map(\.isConditional) == [false, true, true])
        #expect(processors.map(\.count) == [1, 1])
    }

    @Test("A new variant is made of the confirmed original beside the others")
    func added() async throws {
        let transport = confirming()
        let fixture = try ManagerFixture(transport: transport)
        let forms = forms(plain: false)
        #expect(try await ways(fixture, [forms[0]]) == [.fetched])
        fixture.advance(seconds: 11)
        #expect(try await ways(fixture, forms) == [.revalidated, .revalidated])
        #expect(processors.map(\.count) == [1, 1] && transport.requests.count == 2)
        #expect(try await ways(fixture, forms) == [.disk, .disk])
    }

    @Test("A missing variant and an expired one share a request without a condition", arguments: [false, true])
    func mixed(changes: Bool) async throws {
        let transport = ScriptedTransport { [picture, other] request, number in
            request.isConditional ? .init(status: 304) : changes && number > 0 ? other : picture
        }
        let fixture = try ManagerFixture(transport: transport)
        let forms = forms(plain: false, original: false)
        #expect(try await ways(fixture, [forms[0]]) == [.fetched])
        fixture.advance(seconds: 11)
        #expect(try await ways(fixture, forms) == [.fetched, .fetched])
        #expect(transport.requests.map(\.isConditional) == [false, false])
        #expect(try await ways(fixture, forms) == [.disk, .disk])
    }

    @Test("Only the expired variant is served if their origin fails") func mixedStale() async throws {
        let transport = ScriptedTransport(picture, .init(status: 503))
        let fixture = try ManagerFixture(transport: transport)
        let forms = forms(plain: false, original: false) { $0.staleIfError = .seconds(60) }
        #expect(try await ways(fixture, [forms[0]]) == [.fetched])
        fixture.advance(seconds: 11)
        let results = try await get(fixture, forms)
        #expect(try results[0].get().way == .stale && transport.requests.count == 2)
        #expect(throws: KingfisherError.responseError(reason: .invalidHTTPStatusCode(503))) { try results[1].get() }
    }

    @Test("Variants of a changed picture are stored", arguments: [true, false])
    func changed(original: Bool) async throws {
        let (fixture, transport) = try answering(picture, other)
        let forms = forms(plain: true, original: original)
        _ = try await ways(fixture, forms)
        fixture.advance(seconds: 11)
        #expect(try await ways(fixture, forms) == [.fetched, .fetched, .fetched])
        #expect(try await ways(fixture, forms) == [.disk, .disk, .disk])
        #expect(transport.requests.count == 2)
        let digest = other.body.withUnsafeBytes { SHA256.hash($0) }
        for identifier in ["a", "b"] {
            let key = EntryKey(key: Self.url, identifier: identifier)
            #expect(try fixture.manager.cache.storage()?.entry(for: key)?.original == digest)
        }
    }

    @Test("Each variant serves its own expired image if the origin fails", arguments: [true, false])
    func stale(original: Bool) async throws {
        let transport = ScriptedTransport(picture, .init(status: 503))
        let fixture = try ManagerFixture(transport: transport)
        let forms = forms(plain: false, original: original) { $0.staleIfError = .seconds(60) }
        _ = try await ways(fixture, forms)
        fixture.advance(seconds: 11)
        #expect(try await ways(fixture, forms) == [.stale, .stale])
        #expect(processors.map(\.count) == [1, 1] && transport.requests.count == 2)
        fixture.advance(seconds: 60)
        for result in try await get(fixture, forms) {
            #expect(throws: KingfisherError.responseError(reason: .invalidHTTPStatusCode(503))) { try result.get() }
        }
    }

    @Test("Variants are served stale while they are revalidated together")
    func staleWhileRevalidate() async throws {
        let (fixture, transport) = try answering(picture, other)
        let forms = forms(plain: true) { $0.staleWhileRevalidate = .seconds(60) }
        _ = try await ways(fixture, forms)
        fixture.advance(seconds: 11)
        transport.close()
        #expect(try await ways(fixture, forms) == [.stale, .stale, .stale])
        transport.open()
        await fixture.manager.background.wait()
        #expect(try await ways(fixture, forms) == [.disk, .disk, .disk])
        #expect(transport.requests.map(\.isConditional) == [false, true])
        #expect(processors.map(\.count) == [2, 2])
    }

    @Test("Variants of an alternative are stored under its key")
    func alternative() async throws {
        let transport = ScriptedTransport { [picture] request, _ in
            request.url == Self.url ? .init(status: 404) : picture
        }
        let fixture = try ManagerFixture(transport: transport)
        let second = Source.network(try RequestURL("http://h/b.png"))
        let forms = forms(plain: true) { $0.alternativeSources = [second] }
        for result in try await get(fixture, forms) {
            #expect(try result.get().way == .fetched && result.get().source.cacheKey == "http://h/b.png")
        }
        #expect(transport.requests.map(\.url) == [Self.url, "http://h/b.png"])
        #expect(try await fixture.manager.cache.entries(forKey: Self.url).isEmpty)
        #expect(try await fixture.manager.cache.entries(forKey: "http://h/b.png").count == 3)
    }

    @Test("An image with another hash than its pin is asked for once", arguments: [true, false])
    func pinned(hasRemote: Bool) async throws {
        let (transport, layer) = (ScriptedTransport(picture), MemoryLayer())
        let fixture = try ManagerFixture(transport: transport, caching: { if hasRemote { $0.remotes = [layer] } })
        let pin = try #require(ContentHash("sha256:" + String(repeating: "0", count: 64)))
        let options = ManagerFixture.options { $0.expectedHash = pin }
        for result in try await get(fixture, [options, options.describing(.color)]) {
            #expect(throws: KingfisherError.self) { try result.get() }
        }
        #expect(transport.requests.count == 1)
    }

    @Test("An image and its measures count one request, also one that fails", arguments: [true, false], [true, false])
    func counted(hasRemote: Bool, fails: Bool) async throws {
        let transport = ScriptedTransport(fails ? .init(status: 404) : picture)
        let layer = MemoryLayer()
        let fixture = try ManagerFixture(transport: transport, caching: { if hasRemote { $0.remotes = [layer] } })
        let options = ManagerFixture.options()
        let prefetcher = ImagePrefetcher(manager: fixture.manager, forms: [options, options.describing(.color)])
        var attempts: [Int] = []
        let report = await prefetcher.prefetch([.network(try RequestURL(Self.url))]) { outcome, _ in
            attempts.append(outcome.attempts)
        }
        #expect(report.counts == (fails ? [0, 1, 0] : [0, 0, 1]))
        #expect(attempts == [1] && transport.requests.count == 1)
    }

    @Test("An original is committed before anything is made of it", arguments: [1, 2])
    func committedFirst(_ variants: Int) async throws {
        let fixture = try ManagerFixture(transport: ScriptedTransport(picture))
        let closed = await CountingProcessor(closed: "closed")
        var forms = forms(plain: variants == 2)
        forms[0].processor = closed
        let wanted = Array(forms.prefix(variants))
        let results = Task { try await get(fixture, wanted) }
        #expect(await eventually { closed.count == 1 })
        let stored = try await eventually {
            try fixture.manager.cache.storage()?.entry(for: EntryKey(key: Self.url)) != nil
        }
        #expect(stored)
        closed.open()
        for result in try await results.value { #expect(try result.get().way == .fetched) }
    }

    @Test("A call that comes while an image is made joins its download")
    func joining() async throws {
        let transport = ScriptedTransport(picture)
        let fixture = try ManagerFixture(transport: transport)
        _ = try await fixture.get(from: "http://h/cached.png")
        for variants in 1...2 {
            let closed = await CountingProcessor(closed: "closed\(variants)")
            var forms = forms(plain: false, original: false)
            forms[0].processor = closed
            let wanted = Array(forms.prefix(variants))
            let first = Task { try await get(fixture, wanted) }
            #expect(await eventually { closed.count == 1 })
            let second = Task { try await get(fixture, wanted) }
            // By the time that a later one has ended, the second call has been looked up.
            _ = try await fixture.get(from: "http://h/cached.png")
            closed.open()
            for result in try await first.value + second.value { #expect(try result.get().cachedPath != nil) }
        }
        #expect(transport.requests.count { $0.url == Self.url } == 2)
    }
}
