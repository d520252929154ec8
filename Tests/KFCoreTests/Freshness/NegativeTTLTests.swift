import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The time to live of missing images", .bounded)
struct NegativeTTLTests {
    private let source: Source
    private let gone = ScriptedTransport.Answer(status: 404)

    init() throws { source = .network(try RequestURL("http://h/a.png")) }

    private func status(_ fixture: ManagerFixture, _ options: KingfisherOptionsInfo) async -> Int? {
        await failure {
            try await fixture.manager.retrieveImage(with: source, options: options + [.waitForCache])
        }?.httpStatus
    }

    @Test("A 404 is remembered for its time to live")
    func span() async throws {
        let (fixture, transport) = try answering(gone)
        for _ in 0..<2 { #expect(await status(fixture, []) == 404) }
        #expect(transport.requests.count == 2)
        for _ in 0..<2 { #expect(await status(fixture, [.negativeTimeToLive(.seconds(60))]) == 404) }
        #expect(transport.requests.count == 3)
        fixture.advance(seconds: 60)
        #expect(await status(fixture, [.negativeTimeToLive(.seconds(60))]) == 404)
        #expect(transport.requests.count == 4)
        #expect(await status(fixture, [.negativeTimeToLive(.seconds(60)), .retryFailed]) == 404)
        #expect(transport.requests.count == 5)
        // Without the option it is neither obeyed nor forgotten.
        #expect(await status(fixture, []) == 404)
        #expect(transport.requests.count == 6)
        #expect(await status(fixture, [.negativeTimeToLive(.seconds(1))]) == 404)
        #expect(transport.requests.count == 6)
    }

    /// Under the HTTP policy, the last response counts.
    @Test("A 404 without a time to live forgets the last one", arguments: [Duration.zero, .seconds(-1)])
    func zero(_ span: Duration) async throws {
        let (fixture, transport) = try answering(gone)
        let spans = [.seconds(60), .seconds(60), span, .seconds(60)]
        for (span, requests) in zip(spans, [1, 1, 2, 3]) {
            #expect(await status(fixture, [.cachePolicy(.http), .negativeTimeToLive(span)]) == 404)
            #expect(transport.requests.count == requests)
        }
    }

    @Test("A fetch that skips the disk skips the remembered 404")
    func skipped() async throws {
        let (fixture, _) = try answering(gone)
        #expect(await status(fixture, [.negativeTimeToLive(.seconds(60))]) == 404)
        for (option, count) in [(.retryFailed, 2), (.forceRefresh, 1), (.fromMemoryCacheOrRefresh, 1)]
            as [(KingfisherOptionsInfoItem, Int)]
        {
            let options = KingfisherOptions([.negativeTimeToLive(.seconds(60)), option])
            let plan = try await fixture.manager.explain(source, options: options).plan
            #expect(plan.step == .request && plan.reasons.count == count, "\(option): \(plan.reasons)")
        }
    }

    @Test("Only a 404 or 410 is remembered", arguments: [400, 403, 429, 500, 503])
    func others(_ status: Int) async throws {
        let (fixture, transport) = try answering(.init(status: status))
        for _ in 0..<2 {
            #expect(await self.status(fixture, [.negativeTimeToLive(.seconds(60))]) == status)
        }
        #expect(transport.requests.count == 2)
    }

    @Test(
        "Under the HTTP policy the server's headers come first",
        arguments: [("max-age=0", 2), ("no-cache", 2), ("no-store", 2), ("max-age=600", 1), ("private", 1)])
    func server(_ control: String, _ requests: Int) async throws {
        let (fixture, transport) = try answering(.init(status: 404, headers: [("Cache-Control", control)]))
        let options: KingfisherOptionsInfo = [.cachePolicy(.http), .negativeTimeToLive(.seconds(60))]
        for _ in 0..<2 { #expect(await status(fixture, options) == 404) }
        #expect(transport.requests.count == requests)
        if control == "private" {
            // What the option remembered is nothing that the server allowed.
            #expect(await status(fixture, [.cachePolicy(.http)]) == 404)
            #expect(transport.requests.count == requests + 1)
        }
    }

    @Test("An expired image is kept while a 404 is remembered")
    func expiredImage() async throws {
        let image = ScriptedTransport.Answer(status: 200, body: try ManagerFixture.fixture("png/rgb.png"))
        let (fixture, transport) = try answering(image, gone, image, gone)
        let options: KingfisherOptionsInfo = [
            .negativeTimeToLive(.seconds(6000)), .diskCacheExpiration(.seconds(10)), .memoryCacheExpiration(.expired),
            .diskCacheAccessExtendingExpiration(.none),
        ]
        #expect(await status(fixture, options) == nil)
        fixture.advance(seconds: 11)
        for _ in 0..<2 { #expect(await status(fixture, options) == 404) }
        #expect(transport.requests.count == 2)
        #expect(await status(fixture, options + [.offline]) == nil)
        #expect(await status(fixture, options + [.forceRefresh]) == nil)
        fixture.advance(seconds: 11)
        #expect(await status(fixture, options) == 404)
        #expect(transport.requests.count == 4)
    }
}
