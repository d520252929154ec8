import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The prefetcher", .bounded)
struct PrefetchingBehaviourTests {
    private let transport: ScriptedTransport
    private let fixture: ManagerFixture

    init() throws {
        let body = try ManagerFixture.fixture("png/rgb.png")
        transport = ScriptedTransport { request, _ in
            request.url.contains("bad") ? .init(status: 503) : .init(body: body)
        }
        fixture = try ManagerFixture(transport: transport)
    }

    private func sources(_ names: String...) throws -> [Source] { try names.map(source) }

    private func source(_ name: String) throws -> Source { .network(try RequestURL("http://h/\(name).png")) }

    @Test("A prefetcher reports each item once")
    func completed() async throws {
        let many = try (0..<1200).map { try source("\($0)") }
        var numbers: [Int] = []
        var finished: [Int] = []
        let report = await ImagePrefetcher(manager: fixture.manager).prefetch(many) { outcome, progress in
            numbers.append(outcome.item.number)
            finished.append(progress.finished)
        }
        #expect(report.counts == [0, 0, 1200])
        #expect(report.ending == .finished)
        #expect(numbers.sorted() == Array(1...1200))
        #expect(finished == Array(1...1200))
        #expect(transport.requests.count == 1200)
    }

    @Test("A prefetcher skips cached images unless it refreshes")
    func skipped() async throws {
        _ = try await fixture.manager.retrieveImage(with: source("b"), options: [.waitForCache])
        fixture.manager.cache.clearMemoryCache()
        let all = try sources("a", "b", "c")
        #expect((await ImagePrefetcher(manager: fixture.manager).prefetch(all)).counts == [1, 0, 2])
        let forced = ImagePrefetcher(manager: fixture.manager, options: [.forceRefresh])
        #expect((await forced.prefetch(all)).counts == [0, 0, 3])
    }

    @Test("A prefetcher uses the default options of its manager")
    func options() async throws {
        fixture.manager.defaultOptions = [.processor(try ProcessorParser.parse("resize:20x10"))]
        #expect((await ImagePrefetcher(manager: fixture.manager).prefetch(try sources("a"))).counts == [0, 0, 1])
        let kept = try await fixture.manager.cache.entries(forKey: "http://h/a.png").map(\.name.identifier)
        #expect(kept == ["resize:20x10,none"])
    }

    @Test("A stopped prefetcher cancels its downloads and keeps the manager usable")
    func stop() async throws {
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        let first = try source("first")
        _ = try await fixture.manager.retrieveImage(with: first, options: [.waitForCache])
        transport.close()
        let sources = try [first] + (0..<2000).map { try source("\($0)") }
        let errors = Mutex<Set<Int>>([])
        let run = Task {
            await prefetcher.prefetch(sources) { outcome, _ in
                if let error = outcome.error { errors.withLock { _ = $0.insert(error.errorCode) } }
            }
        }
        await transport.requested(3)
        prefetcher.stop()
        let report = await run.value
        #expect(report.counts == [1, 0, 0])
        #expect(report.progress.cancelled >= 3 && report.progress.cancelled + report.progress.notTried == 2000)
        #expect(errors.withLock { $0 } == [1003])
        transport.open()
        #expect(try await fixture.manager.retrieveImage(with: source("after")).way == .fetched)
        #expect(await prefetcher.prefetch(try self.sources("again")).progress.notTried == 1)
    }

    @Test("An empty prefetch makes no request")
    func empty() async {
        let report = await ImagePrefetcher(manager: fixture.manager).prefetch([]) { _, _ in
            Issue.record("told of what there is not")
        }
        #expect(report.counts == [0, 0, 0])
        #expect(report.ending == .finished)
        #expect(transport.requests.isEmpty)
    }

    @Test("A failing cache ends the prefetch before any request")
    func failingCache() async throws {
        let file = try fixture.directory.write("file", "x").path
        let manager = KingfisherManager(
            cache: ImageCache(.init(directory: file)), downloader: fixture.manager.downloader)
        let report = await ImagePrefetcher(manager: manager).prefetch(try sources("a", "b"))
        guard case .failed(let error) = report.ending else {
            Issue.record("ended by \(report.ending)")
            return
        }
        #expect(error.errorCode == 3011)
        #expect(transport.requests.isEmpty)
        #expect(try await fixture.manager.retrieveImage(with: source("a")).way == .fetched)
    }
}
