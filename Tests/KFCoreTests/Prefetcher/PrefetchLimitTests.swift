import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The limits of a prefetcher", .bounded)
struct PrefetchLimitTests {
    private let transport = ManualTransport()
    private let fixture: ManagerFixture
    private let body: [UInt8]

    init() throws {
        fixture = try ManagerFixture(transport: transport)
        body = try ManagerFixture.fixture("png/one-pixel.png")
    }

    private func run(
        _ urls: [String], _ change: (inout ImagePrefetcher.Configuration) -> Void
    ) throws -> Task<PrefetchReport, Never> {
        var configuration = ImagePrefetcher.Configuration()
        change(&configuration)
        let prefetcher = ImagePrefetcher(manager: fixture.manager, configuration: configuration)
        let sources = try urls.map { Source.network(try RequestURL($0)) }
        return Task { await prefetcher.prefetch(sources) }
    }

    /// Ends the open transfers as they come, until so many have been started; looks at each set of them.
    private func serve(_ count: Int, _ look: ([UInt64]) -> Void = { _ in }) async {
        while transport.urls.count < count || !transport.open.isEmpty {
            guard await eventually({ !transport.open.isEmpty }) else { return }
            // More than the limit would show itself now.
            await others(run: .milliseconds(2))
            let open = transport.open
            look(open)
            transport.finish(open, body: body)
        }
    }

    @Test("No more downloads run at once than allowed", arguments: [1, 2, 5])
    func total(_ limit: Int) async throws {
        let run = try run((0..<30).map { "http://h\($0 % 3)/\($0).png" }) { $0.maxConcurrentDownloads = limit }
        await serve(30)
        #expect(await run.value.progress.completed == 30)
        #expect(transport.most == limit)
    }

    @Test("A host's limit does not hold other hosts back")
    func perHost() async throws {
        // Of the first host there are more than of the others, and they come first.
        let urls = (0..<20).map { "http://a/\($0).png" } + (0..<4).map { "http://b/\($0).png" }
        let run = try run(urls) { $0.maxPerHost = 2 }
        #expect(await eventually { transport.urls.count == 4 })
        #expect(transport.urls.sorted() == ["http://a/0.png", "http://a/1.png", "http://b/0.png", "http://b/1.png"])
        await serve(24)
        #expect(await run.value.progress.completed == 24)
        #expect(transport.most == 4)
    }

    @Test("A failed download gives its place to the next")
    func failing() async throws {
        let run = try run((0..<6).map { "http://h/\($0).png" }) { $0.maxConcurrentDownloads = 1 }
        while transport.urls.count < 6 || !transport.open.isEmpty {
            #expect(await eventually { transport.open.count == 1 })
            let isBad = transport.urls.count % 2 == 0
            transport.finish(transport.open, body: isBad ? [1, 2, 3] : body)
        }
        let progress = await run.value.progress
        #expect(progress.completed == 3 && progress.failed == 3)
        #expect(transport.urls == (0..<6).map { "http://h/\($0).png" })
        #expect(transport.most == 1)
    }

    @Test("The downloader's own limit applies without another one")
    func wide() async throws {
        let run = try run((0..<100).map { "http://h/\($0).png" }) { _ in }
        #expect(await eventually { transport.urls.count == 100 })
        await serve(100)
        #expect(await run.value.progress.completed == 100)
        #expect(transport.most == 100)
    }

    @Test("The tally has the work on items in flight until they end")
    func tally() async throws {
        let closed = await CountingProcessor(closed: "closed")
        let forms = [CountingProcessor("open"), closed].map { processor in
            ManagerFixture.options { $0.processor = processor }
        }
        let prefetcher = ImagePrefetcher(manager: fixture.manager, forms: forms)
        let source = Source.network(try RequestURL("http://h/a.png"))
        let run = Task { await prefetcher.prefetch([source]) }
        #expect(await eventually { !transport.open.isEmpty })
        #expect(prefetcher.imagesPerItem == 2 && prefetcher.tally.underWay == RunTally.Steps())
        transport.finish(transport.open, body: body)
        #expect(await eventually { prefetcher.tally.underWay == RunTally.Steps(sources: 1, images: 1) })
        closed.open()
        #expect(await run.value.progress.completed == 1)
        #expect(prefetcher.tally.underWay == RunTally.Steps())
    }
}
