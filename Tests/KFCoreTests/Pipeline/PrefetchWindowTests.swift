import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The window of a prefetch", .bounded)
struct PrefetchWindowTests {
    @Test("No more items are in flight than the window holds")
    func bounded() async throws {
        let transport = ManualTransport()
        let fixture = try ManagerFixture(transport: transport)
        let body = try ManagerFixture.fixture("png/one-pixel.png")
        let window = DescriptorLimit.bound(1024)
        // One host alone gets a part of the window only.
        let sources = try (0..<(window + 300)).map { Source.network(try RequestURL("http://h\($0 % 32)/\($0).png")) }
        let workers = await BlockedWorkers()
        let run = Task { await ImagePrefetcher(manager: fixture.manager).prefetch(sources) }
        #expect(await eventually { transport.urls.count == window })
        transport.finish(transport.open.prefix(200), body: body)
        // More than the window would show itself now.
        await others()
        #expect(transport.urls.count == window)
        workers.release()
        var finished = 0
        while finished < sources.count {
            let open = transport.open
            transport.finish(open, body: body)
            finished = transport.urls.count - transport.open.count
            await others(run: .milliseconds(1))
        }
        let report = await run.value
        #expect(report.progress.completed == sources.count)
        #expect(transport.most == window)
    }
}
