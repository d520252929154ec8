import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Retries of shared downloads", .bounded)
struct SharedRetryTests {
    private static let rounds = 3
    private let ended = EndedImages()

    /// Each waits for another span, the first for the shortest.
    private func jobs(_ fixture: ManagerFixture, url: (Int) -> String) throws -> [ImageJob] {
        try (0..<6).map { number in
            let options = ManagerFixture.options {
                $0.retryStrategy = DelayRetryStrategy(
                    maxRetryCount: Self.rounds, retryInterval: .seconds(Double(number) * 0.02))
            }
            let source = Source.network(try RequestURL(url(number)))
            // Each asks its source at once, with the others.
            return ImageJob(
                fixture.manager, Retrieval(source, OptionsBox(options), fixture.manager.cache), for: ended,
                number: number, asking: Asking())
        }
    }

    @Test("Six calls that share a download retry it together")
    func joined() async throws {
        let transport = ScriptedTransport(.init(status: 503))
        let fixture = try ManagerFixture(transport: transport)
        let jobs = try jobs(fixture) { _ in "http://h/a.png" }
        fixture.manager.start(jobs)
        #expect(await eventually { ended.count == 6 })
        #expect((0..<6).map { ended.code($0) } == Array(repeating: 2002, count: 6))
        #expect(transport.requests.count == 1 + Self.rounds)
        #expect(jobs.map(\.attempts) == Array(repeating: 1 + Self.rounds, count: 6))
    }

    @Test("A cancelled call does not stop the retries of others")
    func cancelled() async throws {
        let transport = ScriptedTransport(.init(status: 503))
        let fixture = try ManagerFixture(transport: transport)
        let jobs = try jobs(fixture) { _ in "http://h/a.png" }
        transport.close()
        fixture.manager.start(jobs)
        await transport.requested(1)
        jobs[0].cancel()
        transport.open()
        #expect(await eventually { ended.count == 6 })
        #expect((0..<6).map { ended.code($0) } == [1003] + Array(repeating: 2002, count: 5))
        #expect(transport.requests.count == 1 + Self.rounds)
    }

    @Test("A retry that succeeds serves all calls")
    func recovered() async throws {
        let body = try ManagerFixture.fixture("png/one-pixel.png")
        let transport = ScriptedTransport { _, number in number == 0 ? .init(status: 503) : .init(body: body) }
        let fixture = try ManagerFixture(transport: transport)
        fixture.manager.start(try jobs(fixture) { _ in "http://h/a.png" })
        #expect(await eventually { ended.count == 6 })
        for number in 0..<6 { #expect(try #require(ended.result(number)).get().facts.width == 1) }
        #expect(transport.requests.count == 2)
    }

    @Test("Downloads of different images are retried separately")
    func separate() async throws {
        let transport = ScriptedTransport(.init(status: 503))
        let fixture = try ManagerFixture(transport: transport)
        fixture.manager.start(try jobs(fixture) { "http://h/\($0).png" })
        #expect(await eventually { ended.count == 6 })
        #expect(transport.requests.count == 6 * (1 + Self.rounds))
    }
}
