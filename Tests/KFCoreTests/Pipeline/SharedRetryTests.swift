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
    private func jobs(_ fixture: ManagerFixture) throws -> [ImageJob] {
        let source = Source.network(try RequestURL("http://h/a.png"))
        return (0..<6).map { number in
            let options = ManagerFixture.options {
                $0.retryStrategy = DelayRetryStrategy(
                    maxRetryCount: Self.rounds, retryInterval: .seconds(Double(number) * 0.02))
            }
            // Each asks its source at once, with the others.
            return ImageJob(
                fixture.manager, Retrieval(source, OptionsBox(options), fixture.manager.cache), for: ended,
                number: number, asking: Asking())
        }
    }

    @Test("Calls that share a download retry it together, also without one", arguments: [false, true])
    func joined(isOneCancelled: Bool) async throws {
        let transport = ScriptedTransport(.init(status: 503))
        let fixture = try ManagerFixture(transport: transport)
        let jobs = try jobs(fixture)
        transport.close()
        ImageJob.start(jobs)
        await transport.requested(1)
        if isOneCancelled { jobs[0].cancel() }
        transport.open()
        #expect(await eventually { ended.count == 6 })
        #expect((0..<6).map { ended.code($0) } == [isOneCancelled ? 1003 : 2002] + Array(repeating: 2002, count: 5))
        #expect(transport.requests.count == 1 + Self.rounds)
        #expect(jobs.dropFirst().allSatisfy { $0.attempts == 1 + Self.rounds })
    }

    @Test("A retry that succeeds serves all calls")
    func recovered() async throws {
        let body = try ManagerFixture.fixture("png/one-pixel.png")
        let transport = ScriptedTransport(.init(status: 503), .init(body: body))
        let fixture = try ManagerFixture(transport: transport)
        ImageJob.start(try jobs(fixture))
        #expect(await eventually { ended.count == 6 })
        for number in 0..<6 { #expect(try #require(ended.result(number)).get().facts.width == 1) }
        #expect(transport.requests.count == 2)
    }
}
