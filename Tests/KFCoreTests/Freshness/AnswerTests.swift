import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Answers without an image are remembered as long as they are fresh", .bounded)
struct AnswerTests {
    private let source: Source

    init() throws { source = .network(try RequestURL("http://h/a.png")) }

    private func fixture(
        _ answers: ScriptedTransport.Answer...
    ) throws -> (ManagerFixture, ScriptedTransport) {
        let transport = ScriptedTransport { [answers] _, number in answers[min(number, answers.count - 1)] }
        return (try ManagerFixture(transport: transport), transport)
    }

    private func image(_ control: String = "max-age=10", _ status: Int = 200) throws -> ScriptedTransport.Answer {
        .init(
            status: status, headers: [("Cache-Control", control)], body: try ManagerFixture.fixture("png/rgb.png"))
    }

    private func options(_ change: (inout KingfisherOptions) -> Void = { _ in }) -> KingfisherOptions {
        ManagerFixture.options {
            $0.cachePolicy = .http
            change(&$0)
        }
    }

    private func error(_ fixture: ManagerFixture, _ options: KingfisherOptions) async throws -> KingfisherError? {
        do throws(KingfisherError) {
            _ = try await fixture.manager.retrieveImage(with: source, options: options)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "With explicit freshness any status, a redirect without an address and one without a body too",
        arguments: [204, 301, 400, 403, 404, 405, 410, 414, 451, 499, 500, 501, 502, 503, 504, 599])
    func explicit(_ status: Int) async throws {
        let (fixture, transport) = try fixture(.init(status: status, headers: [("Cache-Control", "max-age=60")]))
        #expect(try await error(fixture, options()) == .responseError(reason: .invalidHTTPStatusCode(status)))
        fixture.advance(seconds: 59)
        let remembered = try #require(try await error(fixture, options()))
        #expect(remembered == .responseError(reason: .rememberedHTTPStatusCode(status, secondsLeft: 1)))
        #expect(remembered.errorCode == 2002 && remembered.httpStatus == status)
        #expect(remembered.message.contains("remembered for another 1s"))
        #expect(transport.requests.count == 1)
        fixture.advance(seconds: 1)
        #expect(try await error(fixture, options()) == .responseError(reason: .invalidHTTPStatusCode(status)))
        #expect(transport.requests.count == 2)
    }

    @Test(
        "Without it only those that are defined so, by their age; others, and forbidden ones, are asked for again",
        arguments: [
            (404, "", 1), (410, "", 1), (501, "", 1), (403, "", 2), (503, "", 2), (404, "no-store, max-age=60", 2),
            (404, "max-age=0", 2), (404, "no-cache, max-age=60", 2), (429, "max-age=60", 2), (401, "max-age=60", 2),
        ] as [(Int, String, Int)])
    func implicit(_ status: Int, _ control: String, _ requests: Int) async throws {
        let fields: [(name: String, value: String)] = [
            ("Cache-Control", control), ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("Date", "Sun, 13 Nov 1994 08:49:37 GMT"),
        ]
        let (fixture, transport) = try fixture(.init(status: status, headers: fields.filter { !$0.value.isEmpty }))
        fixture.time.value = Timestamp(milliseconds: 784_716_577_000)
        for _ in 0..<2 { #expect(try await error(fixture, options())?.httpStatus == status) }
        #expect(transport.requests.count == requests)
    }

    @Test("A forced retrieval asks again, and what it brings takes the answer's place")
    func forced() async throws {
        let gone = ScriptedTransport.Answer(status: 404, headers: [("Cache-Control", "max-age=6000")])
        let (fixture, transport) = try fixture(gone, try image(), gone)
        #expect(try await error(fixture, options())?.httpStatus == 404)
        #expect(try await error(fixture, options { $0.forceRefresh = true }) == nil)
        #expect(try await error(fixture, options()) == nil)
        #expect(transport.requests.count == 2)
        fixture.advance(seconds: 11)
        // The image has expired; the older answer does not count any more.
        #expect(try await error(fixture, options()) == .responseError(reason: .invalidHTTPStatusCode(404)))
        #expect(transport.requests.count == 3)
    }

    @Test("An image that has expired stays, and is not given out for the answer")
    func expiredImage() async throws {
        let (fixture, transport) = try fixture(
            try image(), .init(status: 410, headers: [("Cache-Control", "max-age=60")]))
        #expect(try await error(fixture, options()) == nil)
        fixture.advance(seconds: 11)
        for _ in 0..<2 { #expect(try await error(fixture, options())?.httpStatus == 410) }
        #expect(transport.requests.count == 2)
        let offline = options {
            $0.onlyFromCache = true
            $0.staleIfError = .seconds(3600)
        }
        #expect(try await error(fixture, offline) == nil)
        #expect(try await fixture.manager.explain(source, options: options()).plan.step == .answer)
    }

    @Test("Nothing is remembered under the plain policy, nor where nothing is stored")
    func nothing() async throws {
        for change in [{ $0.cachePolicy = .timeToLive }, { $0.cacheMemoryOnly = true }]
            as [(inout KingfisherOptions) -> Void]
        {
            let (fixture, transport) = try fixture(.init(status: 404, headers: [("Cache-Control", "max-age=60")]))
            for _ in 0..<2 { #expect(try await error(fixture, options(change))?.httpStatus == 404) }
            #expect(transport.requests.count == 2)
            #expect((try await fixture.manager.cache.summary()?.totals.entries ?? 0) == 0)
        }
    }

    @Test("The cache counts, lists, verifies and removes it like any entry")
    func managed() async throws {
        let (fixture, transport) = try fixture(.init(status: 404, headers: [("Cache-Control", "max-age=60")]))
        let cache = fixture.manager.cache
        _ = try await error(fixture, options())
        let entry = try #require(try await cache.entries(forKey: "http://h/a.png").first)
        #expect(entry.answerStatus == 404 && !entry.isExpired)
        #expect(try await cache.summary()?.formats.map(\.name) == [ImageCache.answerLabel])
        #expect(try await cache.verify { _ in }?.isClean == true)
        #expect(try await cache.isCached(forKey: "http://h/a.png") == false)
        fixture.advance(seconds: 61)
        #expect(try await cache.removeExpired().entries == 1)
        _ = try await error(fixture, options())
        #expect(try await cache.removeImage(forKey: "http://h/a.png").entries == 1)
        _ = try await error(fixture, options())
        #expect(transport.requests.count == 3)
    }

    @Test("An answer that one caller's redirect handler brought about is not remembered for others")
    func personal() async throws {
        let transport = PersonalRefusal()
        let fixture = try ManagerFixture(transport: transport)
        let personal = options {
            $0.request.redirectHandler = AnyRedirectHandler { _, _, request in
                var request = request
                request.headers.append(("X-User", "me"))
                return request
            }
        }
        #expect(try await error(fixture, personal)?.httpStatus == 404)
        #expect(try await fixture.manager.cache.entries(forKey: "http://h/a.png").isEmpty)
        #expect(try await error(fixture, options())?.isRemembered == false)
        #expect(try await error(fixture, options())?.isRemembered == true)
    }

    @Test("An answer for one language is none for another")
    func varies() async throws {
        let (fixture, transport) = try fixture(
            .init(status: 404, headers: [("Cache-Control", "max-age=60"), ("Vary", "Accept-Language")]))
        for language in ["de", "de", "en"] {
            let options = options { $0.request.headers = [("Accept-Language", language)] }
            #expect(try await error(fixture, options)?.httpStatus == 404)
        }
        #expect(transport.requests.count == 2)
    }

    @Test("Any 2xx with an image is taken, under the HTTP policy alone", arguments: [201, 202, 226, 299])
    func success(_ status: Int) async throws {
        let (fixture, transport) = try fixture(try image("max-age=60", status))
        #expect(try await error(fixture, ManagerFixture.options())?.httpStatus == status)
        #expect(try await error(fixture, options()) == nil)
        #expect(try await error(fixture, options()) == nil)
        #expect(transport.requests.count == 2)
    }

    @Test("A 201 without explicit freshness is asked for again, though it has a Last-Modified")
    func created() async throws {
        let answer = ScriptedTransport.Answer(
            status: 201, headers: [("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")],
            body: try ManagerFixture.fixture("png/rgb.png"))
        let (fixture, transport) = try fixture(answer)
        for _ in 0..<2 { #expect(try await error(fixture, options()) == nil) }
        #expect(transport.requests.count == 2)
    }
}

/// Redirects each request, and then says that there is nothing.
private final class PersonalRefusal: PerformingTransport {
    let tasks = TransportTasks()

    func perform(
        _ request: TransferRequest, sink: any TransferSink
    ) async throws(TransferError) -> TransferResponse {
        let redirect = ResponseHead(status: 302, effectiveURL: request.url)
        _ = await request.hooks.redirect?(redirect, .init(url: "http://h/b.png"))
        let fields = HeaderFields([(name: "Cache-Control", value: "max-age=60")])
        throw .httpStatus(404, ResponseHead(status: 404, headers: fields, effectiveURL: "http://h/b.png"))
    }

    func pause(host: String, for duration: Duration) {}
    func drain() {}
    func shutdown() {}
}
