import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Back pressure of the stores", .bounded)
struct BackPressureTests {
    private let transport = ManualTransport()
    private let fixture: ManagerFixture
    private let ended = EndedImages()
    private let body: [UInt8]

    init() throws {
        fixture = try ManagerFixture(transport: transport)
        body = try ManagerFixture.fixture("png/one-pixel.png")
    }

    private func start(
        _ count: Int, _ change: (inout KingfisherOptions) -> Void = { _ in }
    ) async throws -> [ImageJob] {
        let box = OptionsBox(ManagerFixture.options(change))
        let jobs = try (0..<count).map { number in
            let source = Source.network(try RequestURL("http://h/\(number).png"))
            let retrieval = Retrieval(source, box, fixture.manager.cache)
            return ImageJob(fixture.manager, retrieval, for: ended, number: number)
        }
        ImageJob.start(jobs)
        #expect(await eventually { transport.open.count == count })
        return jobs
    }

    private func isLetGo(_ count: Int) async -> Bool {
        await eventually { ended.count == count && transport.holds.last != true }
    }

    @Test("More than 512 waiting bodies hold new transfers back", arguments: 0..<4)
    func number(_ run: Int) async throws {
        _ = try await start(600) { $0.batchesStores = run % 2 == 0 }
        let workers = await BlockedWorkers()
        let starts = transport.open
        transport.finish(starts[..<300], body: body, received: 1)
        transport.finish(starts[300..<512], body: body, received: 1)
        #expect(transport.holds == [])
        transport.finish([starts[512]], body: body, received: 1)
        #expect(transport.holds == [true])
        transport.finish(starts[513...], body: body, received: 1)
        #expect(transport.holds == [true])
        #expect(ended.count == 0)
        workers.release()
        #expect(await isLetGo(600))
        #expect(transport.holds == [true, false])
        #expect((0..<600).allSatisfy { if case .success? = ended.result($0) { true } else { false } })
    }

    @Test("Stored bodies let transfers go on while other work waits")
    func stored() async throws {
        _ = try await start(600)
        let workers = await BlockedWorkers()
        transport.finish(transport.open, body: body)
        #expect(transport.holds == [true])
        // Behind the bodies, more work than the threads can take.
        let other = BlockedWorkers.behind()
        workers.release()
        #expect(await eventually { transport.holds == [true, false] }, "most of the bodies are stored")
        other.release()
        #expect(await isLetGo(600))
    }

    @Test("Cancelled and refused bodies let transfers go on", arguments: [true, false])
    func unwanted(_ isCancelled: Bool) async throws {
        let jobs = try await start(20)
        let workers = await BlockedWorkers()
        transport.finish(transport.open, body: isCancelled ? body : Array("text".utf8), received: 1 << 20)
        #expect(transport.holds == [true])
        if isCancelled { for job in jobs { job.cancel() } }
        workers.release()
        #expect(await isLetGo(20))
        #expect(transport.holds == [true, false])
        #expect(Set((0..<20).map { ended.code($0) }) == [isCancelled ? 1003 : 2007])
    }
}
