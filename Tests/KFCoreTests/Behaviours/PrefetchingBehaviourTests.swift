import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Behaviours: prefetching", .bounded)
struct PrefetchingBehaviourTests {
    private let transport: ScriptedTransport
    private let fixture: ManagerFixture

    init() throws {
        let body = try ManagerFixture.fixture("png/rgb.png")
        transport = ScriptedTransport { request, number in
            request.url.contains("bad") || request.url.contains("flaky") && number == 0
                ? .init(status: 503) : .init(body: body)
        }
        fixture = try ManagerFixture(transport: transport)
    }

    private func sources(_ names: String...) throws -> [Source] { try names.map(source) }

    private func source(_ name: String) throws -> Source { .network(try RequestURL("http://h/\(name).png")) }

    private func counts(_ report: PrefetchReport) -> [Int] {
        [report.progress.skipped, report.progress.failed, report.progress.completed]
    }

    @Test("Prefetcher: all completed, and told of each once, in bounded parts")
    func completed() async throws {
        let many = try (0..<1200).map { try source("\($0)") }
        var numbers: [Int] = []
        var finished: [Int] = []
        let report = await ImagePrefetcher(manager: fixture.manager).prefetch(many) { outcome, progress in
            numbers.append(outcome.item.number)
            finished.append(progress.finished)
        }
        #expect(counts(report) == [0, 0, 1200])
        #expect(report.ending == .finished)
        #expect(numbers.sorted() == Array(1...1200))
        #expect(finished == Array(1...1200))
        #expect(transport.requests.count == 1200)
    }

    @Test("Prefetcher: one is cached: 1 skipped; a refresh skips none")
    func skipped() async throws {
        _ = try await fixture.manager.retrieveImage(with: source("b"), options: [.waitForCache])
        fixture.manager.cache.clearMemoryCache()
        let all = try sources("a", "b", "c")
        #expect(counts(await ImagePrefetcher(manager: fixture.manager).prefetch(all)) == [1, 0, 2])
        let forced = ImagePrefetcher(manager: fixture.manager, options: [.forceRefresh])
        #expect(counts(await forced.prefetch(all)) == [0, 0, 3])
    }

    @Test("Prefetcher: the default options of the manager stand before its own")
    func options() async throws {
        fixture.manager.defaultOptions = [.processor(try ProcessorParser.parse("resize:20x10"))]
        #expect(counts(await ImagePrefetcher(manager: fixture.manager).prefetch(try sources("a"))) == [0, 0, 1])
        let kept = try await fixture.manager.cache.entries(forKey: "http://h/a.png").map(\.name.identifier)
        #expect(kept == ["resize:20x10,none"])
    }

    @Test("Prefetcher: stop: the rest was cancelled or not tried, and the manager works on")
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
        #expect(counts(report) == [1, 0, 0])
        #expect(report.progress.cancelled >= 3 && report.progress.cancelled + report.progress.notTried == 2000)
        #expect(errors.withLock { $0 } == [1003])
        transport.open()
        #expect(try await fixture.manager.retrieveImage(with: source("after")).way == .fetched)
        #expect(await prefetcher.prefetch(try self.sources("again")).progress.notTried == 1)
    }

    @Test("Prefetcher: empty: 0/0/0, and nobody is asked")
    func empty() async {
        let report = await ImagePrefetcher(manager: fixture.manager).prefetch([]) { _, _ in
            Issue.record("told of what there is not")
        }
        #expect(counts(report) == [0, 0, 0])
        #expect(report.ending == .finished)
        #expect(transport.requests.isEmpty)
    }

    @Test("Prefetcher: a failing one is retried, and counted once")
    func retried() async throws {
        let strategy = DelayRetryStrategy(maxRetryCount: 2, retryInterval: .seconds(0))
        let prefetcher = ImagePrefetcher(manager: fixture.manager, options: [.retryStrategy(strategy)])
        let attempts = Mutex<[String: Int]>([:])
        let report = await prefetcher.prefetch(try sources("flaky")) { outcome, _ in
            attempts.withLock { $0["flaky"] = outcome.attempts }
        }
        #expect(counts(report) == [0, 0, 1])
        let failing = await prefetcher.prefetch(try sources("bad")) { outcome, _ in
            attempts.withLock { $0["bad"] = outcome.attempts }
        }
        #expect(counts(failing) == [0, 1, 0])
        #expect(attempts.withLock { $0 } == ["flaky": 2, "bad": 3])
        #expect(transport.requests.count == 5)
    }

    @Test("Prefetcher: a cache that fails ends it, and leaves the downloader to others")
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
