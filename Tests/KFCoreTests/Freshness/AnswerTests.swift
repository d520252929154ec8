import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Remembered error responses", .bounded)
struct AnswerTests {
    private let source: Source

    init() throws { source = .network(try RequestURL("http://h/a.png")) }

    private func image(_ control: String = "max-age=10", _ status: Int = 200) throws -> ScriptedTransport.Answer {
        .init(
            status: status, headers: [("Cache-Control", control)], body: try ManagerFixture.fixture("png/rgb.png"))
    }

    private func error(_ fixture: ManagerFixture, _ options: KingfisherOptions) async -> KingfisherError? {
        await failure { try await fixture.get(options) }
    }

    @Test(
        "A fresh error response is remembered, whatever its status",
        arguments: [204, 301, 400, 403, 404, 405, 410, 414, 451, 499, 500, 501, 502, 503, 504, 599])
    func explicit(_ status: Int) async throws {
        let (fixture, transport) = try answering(.init(status: status, headers: [("Cache-Control", "max-age=60")]))
        #expect(await error(fixture, .http()) == .responseError(reason: .invalidHTTPStatusCode(status)))
        fixture.advance(seconds: 59)
        let remembered = try #require(await error(fixture, .http()))
        #expect(remembered == .responseError(reason: .rememberedHTTPStatusCode(status, secondsLeft: 1)))
        #expect(remembered.errorCode == 2002 && remembered.httpStatus == status)
        #expect(remembered.message.hasSuffix(", remembered") && remembered.messageNow.hasSuffix(" for another 1s"))
        #expect(transport.requests.count == 1)
        fixture.advance(seconds: 1)
        #expect(await error(fixture, .http()) == .responseError(reason: .invalidHTTPStatusCode(status)))
        #expect(transport.requests.count == 2)
    }

    @Test(
        "Only some statuses are remembered by their age alone",
        arguments: [
            (404, "", 1), (410, "", 1), (501, "", 1), (403, "", 2), (503, "", 2), (404, "no-store, max-age=60", 2),
            (404, "max-age=0", 2), (404, "no-cache, max-age=60", 2), (429, "max-age=60", 2), (401, "max-age=60", 2),
        ] as [(Int, String, Int)])
    func implicit(_ status: Int, _ control: String, _ requests: Int) async throws {
        let fields: [(name: String, value: String)] = [
            ("Cache-Control", control), ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("Date", "Sun, 13 Nov 1994 08:49:37 GMT"),
        ]
        let (fixture, transport) = try answering(.init(status: status, headers: fields.filter { !$0.value.isEmpty }))
        fixture.time.value = Timestamp(milliseconds: 784_716_577_000)
        for _ in 0..<2 { #expect(await error(fixture, .http())?.httpStatus == status) }
        #expect(transport.requests.count == requests)
    }

    @Test("A forced retrieval replaces a remembered error response")
    func forced() async throws {
        let gone = ScriptedTransport.Answer(status: 404, headers: [("Cache-Control", "max-age=6000")])
        let (fixture, transport) = try answering(gone, try image(), gone)
        #expect(await error(fixture, .http())?.httpStatus == 404)
        #expect(await error(fixture, .http { $0.forceRefresh = true }) == nil)
        #expect(await error(fixture, .http()) == nil)
        #expect(transport.requests.count == 2)
        fixture.advance(seconds: 11)
        // The image has expired; the older answer does not count any more.
        #expect(await error(fixture, .http()) == .responseError(reason: .invalidHTTPStatusCode(404)))
        #expect(transport.requests.count == 3)
    }

    @Test("An expired image is kept beside a remembered error")
    func expiredImage() async throws {
        let (fixture, transport) = try answering(
            try image(), .init(status: 410, headers: [("Cache-Control", "max-age=60")]))
        #expect(await error(fixture, .http()) == nil)
        fixture.advance(seconds: 11)
        for _ in 0..<2 { #expect(await error(fixture, .http())?.httpStatus == 410) }
        #expect(transport.requests.count == 2)
        let offline = KingfisherOptions.http {
            $0.onlyFromCache = true
            $0.staleIfError = .seconds(3600)
        }
        #expect(await error(fixture, offline) == nil)
        #expect(try await fixture.manager.explain(source, options: .http()).plan.step == .answer)
    }

    @Test("Error responses are not remembered by default")
    func nothing() async throws {
        for change in [{ $0.cachePolicy = .timeToLive }, { $0.cacheMemoryOnly = true }]
            as [(inout KingfisherOptions) -> Void]
        {
            let (fixture, transport) = try answering(.init(status: 404, headers: [("Cache-Control", "max-age=60")]))
            for _ in 0..<2 { #expect(await error(fixture, .http(change))?.httpStatus == 404) }
            #expect(transport.requests.count == 2)
            #expect((try await fixture.manager.cache.summary()?.totals.entries ?? 0) == 0)
        }
    }

    @Test("A remembered error is listed, verified and removed like an image")
    func managed() async throws {
        let (fixture, transport) = try answering(.init(status: 404, headers: [("Cache-Control", "max-age=60")]))
        let cache = fixture.manager.cache
        _ = await error(fixture, .http())
        let entry = try #require(try await cache.entries(forKey: "http://h/a.png").first)
        #expect(entry.answerStatus == 404 && !entry.isExpired)
        #expect(try await cache.summary()?.formats.map(\.name) == [ImageCache.answerLabel])
        #expect(try await cache.verify { _ in }?.isClean == true)
        #expect(try await cache.isCached(forKey: "http://h/a.png") == false)
        fixture.advance(seconds: 61)
        #expect(try await cache.removeExpired().entries == 1)
        _ = await error(fixture, .http())
        #expect(try await cache.removeImage(forKey: "http://h/a.png").entries == 1)
        _ = await error(fixture, .http())
        #expect(transport.requests.count == 3)
    }

    @Test("A response changed by a redirect handler is not remembered")
    func personal() async throws {
        let fields = [(name: "Cache-Control", value: "max-age=60")]
        let redirect = ScriptedTransport.Answer(status: 302, headers: fields + [("Location", "http://h/to.png")])
        let fixture = try ManagerFixture(
            transport: ScriptedTransport { request, _ in
                request.url == "http://h/a.png" ? redirect : .init(status: 404, headers: fields)
            })
        let personal = KingfisherOptions.http {
            $0.request.redirectHandler = AnyRedirectHandler { _, _, request in
                var request = request
                request.headers.append(("X-User", "me"))
                return request
            }
        }
        #expect(await error(fixture, personal)?.httpStatus == 404)
        #expect(try await fixture.manager.cache.entries(forKey: "http://h/a.png").isEmpty)
        #expect(await error(fixture, .http())?.isRemembered == false)
        #expect(await error(fixture, .http())?.isRemembered == true)
    }

    @Test("A remembered error applies to its own language only")
    func varies() async throws {
        let (fixture, transport) = try answering(
            .init(status: 404, headers: [("Cache-Control", "max-age=60"), ("Vary", "Accept-Language")]))
        for language in ["de", "de", "en"] {
            let options = KingfisherOptions.http { $0.request.headers = [("Accept-Language", language)] }
            #expect(await error(fixture, options)?.httpStatus == 404)
        }
        #expect(transport.requests.count == 2)
    }

    @Test("Every 2xx with an image is accepted under the HTTP policy", arguments: [201, 202, 226, 299])
    func success(_ status: Int) async throws {
        let (fixture, transport) = try answering(try image("max-age=60", status))
        #expect(await error(fixture, ManagerFixture.options())?.httpStatus == status)
        #expect(await error(fixture, .http()) == nil)
        #expect(await error(fixture, .http()) == nil)
        #expect(transport.requests.count == 2)
    }

    @Test("A 201 without explicit freshness is not reused")
    func created() async throws {
        let answer = ScriptedTransport.Answer(
            status: 201, headers: [("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")],
            body: try ManagerFixture.fixture("png/rgb.png"))
        let (fixture, transport) = try answering(answer)
        for _ in 0..<2 { #expect(await error(fixture, .http()) == nil) }
        #expect(transport.requests.count == 2)
    }
}
