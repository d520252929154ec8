import KFNetwork
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Revalidation of expired images", .bounded)
struct RevalidationTests {
    private static let source = "http://h/a.png"

    private func options(_ change: (inout KingfisherOptions) -> Void = { _ in }) -> KingfisherOptions {
        ManagerFixture.options {
            $0.diskCacheExpiration = .seconds(10)
            change(&$0)
        }
    }

    private func picture(_ headers: [(name: String, value: String)] = [("ETag", "\"1\"")]) throws
        -> ScriptedTransport.Answer
    {
        .init(headers: headers, body: try ManagerFixture.fixture("png/rgb.png"))
    }

    /// The picture at first; 304 to every condition after that.
    private func confirming(_ picture: ScriptedTransport.Answer, _ headers: [(name: String, value: String)] = [])
        -> ScriptedTransport
    {
        ScriptedTransport { request, _ in
            request.isConditional ? .init(status: 304, headers: headers) : picture
        }
    }

    private func get(_ fixture: ManagerFixture, _ options: KingfisherOptions) async throws -> RetrievalWay {
        try await fixture.get(options).way
    }

    @Test(
        "A 304 makes an expired image fresh again",
        arguments: [
            ("ETag", "\"1\"", "If-None-Match"), ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT", "If-Modified-Since"),
        ])
    func notModified(_ field: String, _ value: String, _ condition: String) async throws {
        let transport = confirming(try picture([(field, value)]))
        let fixture = try ManagerFixture(transport: transport)
        #expect(try await get(fixture, options()) == .fetched)
        fixture.advance(seconds: 11)
        #expect(try await get(fixture, options()) == .revalidated)
        #expect(transport.requests[1].sentHeaders.contains { $0 == (condition, value) })
        fixture.advance(seconds: 9)
        #expect(try await get(fixture, options()) == .disk)
        #expect(transport.requests.count == 2)
    }

    @Test(
        "A 304 with another validator is answered by a whole request",
        arguments: [
            ([("ETag", "\"1\"")], [("ETag", "\"2\"")]), ([("ETag", "\"1\"")], [("ETag", "W/\"2\"")]),
            ([("Last-Modified", monday)], [("Last-Modified", tuesday)]),
            ([("ETag", "\"1\""), ("Last-Modified", monday)], [("Last-Modified", tuesday)]),
            ([("Last-Modified", monday)], [("Last-Modified", "yesterday")]),
        ] as [([(String, String)], [(String, String)])])
    func relabelled(_ first: [(String, String)], _ second: [(String, String)]) async throws {
        let old = try picture(first.map { (name: $0.0, value: $0.1) })
        let new = ScriptedTransport.Answer(headers: second.map { (name: $0.0, value: $0.1) }, body: old.body)
        let transport = ScriptedTransport { request, number in
            if number == 0 { return old }
            return request.isConditional ? .init(status: 304, headers: new.headers) : new
        }
        let fixture = try ManagerFixture(transport: transport)
        _ = try await fixture.get(options())
        fixture.advance(seconds: 11)
        #expect(try await get(fixture, options()) == .fetched)
        #expect(transport.requests.map(\.isConditional) == [false, true, false])
        let entry = try #require(try fixture.manager.cache.storage()?.entry(for: EntryKey(key: Self.source)))
        #expect(entry.etag == second.first { $0.0 == "ETag" }?.1)
    }

    private static let monday = "Mon, 07 Nov 1994 08:49:37 GMT"
    private static let tuesday = "Tue, 08 Nov 1994 08:49:37 GMT"

    @Test(
        "A 304 confirms by the same validator, and never changes an ETag",
        arguments: [
            ([("ETag", "W/\"1\"")], [("ETag", "\"1\"")]), ([("ETag", "\"1\"")], [("ETag", "W/\"1\"")]),
            ([("ETag", "\"1\""), ("Last-Modified", monday)], [("ETag", "\"1\""), ("Last-Modified", tuesday)]),
            ([("Last-Modified", monday)], [("Last-Modified", "Monday, 07-Nov-94 08:49:37 GMT")]),
            ([("Last-Modified", monday)], [("ETag", "\"1\"")]), ([("ETag", "\"1\"")], []),
        ] as [([(String, String)], [(String, String)])])
    func confirmed(_ first: [(String, String)], _ second: [(String, String)]) async throws {
        let picture = try picture(first.map { (name: $0.0, value: $0.1) })
        let transport = confirming(picture, second.map { (name: $0.0, value: $0.1) })
        let fixture = try ManagerFixture(transport: transport)
        _ = try await fixture.get(options())
        fixture.advance(seconds: 11)
        #expect(try await get(fixture, options()) == .revalidated)
        let entry = try #require(try fixture.manager.cache.storage()?.entry(for: EntryKey(key: Self.source)))
        #expect(entry.etag == first.first { $0.0 == "ETag" }?.1)
    }

    @Test("An image without validators is fetched again")
    func noValidators() async throws {
        let transport = confirming(try picture([]))
        let fixture = try ManagerFixture(transport: transport)
        #expect(try await get(fixture, options()) == .fetched)
        fixture.advance(seconds: 11)
        #expect(try await get(fixture, options()) == .fetched)
        #expect(!transport.requests[1].isConditional)
    }

    @Test("A request with the program's own condition fails", arguments: ["If-None-Match", "if-range", "Range"])
    func ownCondition(_ name: String) async throws {
        let transport = confirming(try picture())
        let fixture = try ManagerFixture(transport: transport)
        let options = options { $0.request.headers = [(name, "x")] }
        let error = await #expect(throws: KingfisherError.self) { try await get(fixture, options) }
        #expect(error?.message.contains("kf makes ranges and conditions by itself") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test("A processed image is revalidated with its original")
    func processed() async throws {
        let transport = confirming(try picture())
        let fixture = try ManagerFixture(transport: transport)
        let resized = try ManagerFixture.resized {
            $0.diskCacheExpiration = .seconds(10)
            $0.cacheOriginalImage = true
            $0.memoryCacheExpiration = .expired
        }
        #expect(try await get(fixture, resized) == .fetched)
        fixture.advance(seconds: 11)
        #expect(try await get(fixture, resized) == .revalidated)
        // The original was confirmed with it.
        #expect(try await get(fixture, options()) == .disk)
        #expect(transport.requests.count == 2)
    }

    @Test("A changed image replaces the expired one")
    func changed() async throws {
        let second = ScriptedTransport.Answer(
            headers: [("ETag", "\"2\"")], body: try ManagerFixture.fixture("png/grey.png"))
        let fixture = try ManagerFixture(transport: ScriptedTransport(try picture(), second))
        #expect(try await get(fixture, options()) == .fetched)
        fixture.advance(seconds: 11)
        #expect(try await get(fixture, options()) == .fetched)
        #expect(try await fixture.get(options()).data() == second.body)
    }

    @Test("An image removed before its 304 is fetched again")
    func vanished() async throws {
        let picture = try picture()
        let fixture = SharedValue<ManagerFixture?>(nil)
        let transport = ScriptedTransport { request, _ in
            guard request.isConditional else { return picture }
            if let fixture = fixture.value {
                _ = try? fixture.manager.cache.storage()?.removeAll()
            }
            return .init(status: 304)
        }
        fixture.value = try ManagerFixture(transport: transport)
        let used = try #require(fixture.value)
        #expect(try await get(used, options()) == .fetched)
        used.advance(seconds: 11)
        #expect(try await get(used, options()) == .fetched)
        #expect(transport.requests.map(\.isConditional) == [false, true, false])
    }

    @Test("An expired image hides a server error but no 404", arguments: [503, 404])
    func staleIfError(_ status: Int) async throws {
        let fixture = try ManagerFixture(transport: ScriptedTransport(try picture(), .init(status: status)))
        let options = options { $0.staleIfError = .seconds(60) }
        let offline = self.options { ($0.staleIfError, $0.onlyFromCache) = (.seconds(60), true) }
        #expect(try await get(fixture, options) == .fetched)
        fixture.advance(seconds: 11)
        if status == 503 {
            #expect(try await get(fixture, options) == .stale)
            #expect(try await get(fixture, offline) == .stale)
            fixture.advance(seconds: 60)
        }
        await #expect(throws: KingfisherError.responseError(reason: .invalidHTTPStatusCode(status))) {
            try await get(fixture, options)
        }
    }

    @Test("The revalidate option confirms fresh images too")
    func always() async throws {
        let transport = confirming(try picture())
        let fixture = try ManagerFixture(transport: transport)
        let options = options {
            $0.revalidate = true
            $0.memoryCacheExpiration = nil
        }
        #expect(try await get(fixture, options) == .fetched)
        #expect(try await get(fixture, options) == .revalidated)
        #expect(try await get(fixture, options) == .revalidated)
        #expect(transport.requests.map(\.isConditional) == [false, true, true])
        var offline = options
        offline.onlyFromCache = true
        #expect(try await get(fixture, offline) == .memory)
        let plan = try await fixture.manager.explain(.network(RequestURL(Self.source)), options: options).plan
        #expect(plan.step == .revalidate)
        #expect(plan.conditions.contains { $0 == ("If-None-Match", "\"1\"") })
    }

    @Test("Variants are made of a confirmed or stale original")
    func variants() async throws {
        let transport = confirming(try picture())
        let fixture = try ManagerFixture(transport: transport)
        #expect(try await get(fixture, options()) == .fetched)
        let url = Source.network(try RequestURL(Self.source))
        func widths(_ change: (inout KingfisherOptions) -> Void) async throws -> [Int?] {
            let forms = try [10, 20].map { width in
                let processor = try ProcessorParser.parse("resize:\(width)x\(width)")
                return options {
                    $0.processor = processor
                    $0.cacheProcessedImage = false
                    change(&$0)
                }
            }
            return try await fixture.manager.retrieveVariants(of: url, options: forms).map { try $0.get().facts.width }
        }
        #expect(try await widths { $0.revalidate = true } == [10, 20])
        fixture.advance(seconds: 11)
        #expect(try await widths { $0.staleWhileRevalidate = .seconds(60) } == [10, 20])
        await fixture.manager.background.wait()
        fixture.advance(seconds: 11)
        #expect(try await widths { _ in } == [10, 20])
    }

    @Test("A forced refresh sends no condition")
    func forced() async throws {
        let transport = confirming(try picture())
        let fixture = try ManagerFixture(transport: transport)
        #expect(try await get(fixture, options()) == .fetched)
        fixture.advance(seconds: 11)
        #expect(try await get(fixture, options { $0.forceRefresh = true }) == .fetched)
        #expect(!transport.requests[1].isConditional)
    }
}
