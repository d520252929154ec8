import KFImaging
import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

/// Tells the first request for a URL from later ones, whichever threads ask.
private final class FirstTimes: Sendable {
    private let seen = Mutex<Set<String>>([])

    func isFirst(_ url: String) -> Bool { seen.withLock { $0.insert(url).inserted } }
}

@Suite("The pipeline of a prefetch", .bounded)
struct PrefetchPipelineTests {
    private let transport: ScriptedTransport
    private let fixture: ManagerFixture

    init() throws {
        let body = try ManagerFixture.fixture("png/rgba.png")
        let failed = FirstTimes()
        transport = ScriptedTransport { request, _ in
            if request.url.contains("bad") { return .init(status: 503) }
            guard request.url.contains("flaky"), failed.isFirst(request.url) else { return .init(body: body) }
            return .init(status: 503)
        }
        fixture = try ManagerFixture(transport: transport)
    }

    private func source(_ name: String) throws -> Source { .network(try RequestURL("http://h/\(name).png")) }

    private func form(_ chain: String) throws -> KingfisherOptions {
        let processor = try ProcessorParser.parse(chain)
        return ManagerFixture.options {
            $0.processor = processor
            $0.cacheOriginalImage = true
        }
    }

    @Test("The variants of an image are committed in one transaction", arguments: ["network", "provider"])
    func transaction(_ kind: String) async throws {
        let provider = CountingProvider("key", try ManagerFixture.fixture("png/rgba.png"))
        let source = kind == "network" ? try source("a") : .provider(provider)
        // The cache is there before its commits are counted.
        _ = try await fixture.manager.retrieveImage(with: self.source("first"), options: ManagerFixture.options())
        let other = ImageCache(.init(directory: fixture.directory.url.appendingPathComponent("cache").path))
        let storage = try #require(try other.storage())
        let before = storage.commitsOfOthers
        let prefetcher = ImagePrefetcher(
            manager: fixture.manager, forms: try ["resize:20x10", "resize:10x20", "blur:2"].map(form))
        #expect((await prefetcher.prefetch([source])).counts == [0, 0, 1])
        // The original may be committed before them.
        #expect((1...2).contains(storage.commitsOfOthers - before))
        let key = source.cacheKey(for: RequestOptions())
        #expect(try await other.entries(forKey: key).count == 4)
        await other.close()
    }

    @Test("A list skips a fresh file that memory lacks")
    func fresh() async throws {
        let sources = [try source("a")]
        _ = await ImagePrefetcher(manager: fixture.manager).prefetch(sources)
        fixture.manager.cache.clearMemoryCache()
        let form = ManagerFixture.options { $0.fromMemoryCacheOrRefresh = true }
        let report = await ImagePrefetcher(manager: fixture.manager, forms: [form]).prefetch(sources)
        #expect(report.counts == [1, 0, 0])
        #expect(transport.requests.count == 1)
    }

    @Test("A repeated URL is requested once")
    func duplicates() async throws {
        let sources = try (0..<120).map { try source("\($0 % 3)") }
        let report = await ImagePrefetcher(manager: fixture.manager).prefetch(sources)
        #expect(report.progress.failed == 0 && report.progress.finished == 120)
        #expect(Set(transport.requests.map(\.url)).count == 3)
        #expect(transport.requests.count == 3)
        #expect(!fixture.manager.isWorking)
    }

    @Test("A repeated URL is requested once in a small window")
    func duplicatesInTurn() async throws {
        for isProcessed in [false, true] {
            var configuration = ImagePrefetcher.Configuration()
            configuration.maxConcurrentDownloads = 3
            var form = try form("resize:20x10")
            form.cacheOriginalImage = false
            let prefetcher = ImagePrefetcher(
                manager: fixture.manager, forms: [isProcessed ? form : ManagerFixture.options()],
                configuration: configuration)
            let report = await prefetcher.prefetch(
                try [Source](repeating: source(isProcessed ? "b" : "a"), count: 200))
            #expect(report.progress.failed == 0 && report.progress.finished == 200)
        }
        #expect(transport.requests.count == 2)
        #expect(!fixture.manager.isWorking)
    }

    @Test("An expired URL that a list repeats is confirmed once")
    func expiredDuplicates() async throws {
        let picture = ScriptedTransport.Answer(
            headers: [("ETag", "\"1\"")], body: try ManagerFixture.fixture("png/rgba.png"))
        let transport = ScriptedTransport { request, _ in request.isConditional ? .init(status: 304) : picture }
        let fixture = try ManagerFixture(transport: transport)
        let options = ManagerFixture.options { $0.diskCacheExpiration = .seconds(10) }
        _ = try await fixture.get(options)
        fixture.advance(seconds: 11)
        var configuration = ImagePrefetcher.Configuration()
        configuration.maxConcurrentDownloads = 3
        let prefetcher = ImagePrefetcher(manager: fixture.manager, forms: [options], configuration: configuration)
        let url = Source.network(try RequestURL("http://h/a.png"))
        let report = await prefetcher.prefetch([Source](repeating: url, count: 100))
        #expect(report.progress.failed == 0 && report.progress.finished == 100)
        #expect(transport.requests.map(\.isConditional) == [false, true])
    }

    @Test("Failed items are retried and counted once")
    func rests() async throws {
        let strategy = DelayRetryStrategy(maxRetryCount: 1, retryInterval: .custom { _ in 0.02 })
        let prefetcher = ImagePrefetcher(manager: fixture.manager, options: [.retryStrategy(strategy)])
        let sources = try (0..<5).map { try source("flaky\($0)") } + (0..<2).map { try source("bad\($0)") }
        var attempts: [Int] = []
        let report = await prefetcher.prefetch(sources) { outcome, _ in attempts.append(outcome.attempts) }
        #expect(report.counts == [0, 2, 5])
        #expect(attempts == Array(repeating: 2, count: 7))
        #expect(transport.requests.count == 14)
    }

    enum Ending: CaseIterable { case stop, cancelledTask }

    @Test("Giving up ends transfers and retries", arguments: Ending.allCases)
    func givingUp(_ ending: Ending) async throws {
        let strategy = DelayRetryStrategy(maxRetryCount: 1, retryInterval: .seconds(3600))
        let prefetcher = ImagePrefetcher(manager: fixture.manager, options: [.retryStrategy(strategy)])
        let sources = try (0..<3).map { try source("bad\($0)") }
        let told = SharedValue<[Int]>([])
        let run = Task {
            await prefetcher.prefetch(sources) { outcome, _ in told.value.append(outcome.error?.errorCode ?? 0) }
        }
        await transport.requested(3)
        #expect(await eventually { !fixture.manager.isWorking }, "all of them rest")
        switch ending {
        case .stop: prefetcher.stop()
        case .cancelledTask: run.cancel()
        }
        let report = await run.value
        #expect(report.counts == [0, 0, 0] && report.progress.cancelled == 3)
        #expect(told.value == [1003, 1003, 1003])
        #expect(transport.requests.count == 3)
    }

    @Test("Giving up at any moment counts every item once")
    func givingUpAnywhere() async throws {
        for stopped in stride(from: 0, to: 300, by: 37) {
            let prefetcher = ImagePrefetcher(manager: fixture.manager)
            let sources = try (0..<300).map { try source("\(stopped)-\($0)") }
            let told = SharedValue<[Int]>([])
            if stopped == 0 { prefetcher.stop() }
            let report = await prefetcher.prefetch(sources) { outcome, progress in
                told.value.append(outcome.item.number)
                if progress.finished == stopped { prefetcher.stop() }
            }
            #expect(report.progress.finished == 300)
            #expect(told.value.sorted() == Array(1...300))
            #expect(report.progress.completed >= min(stopped, 1))
            #expect(await eventually { !fixture.manager.isWorking })
        }
    }

    @Test("Ending early leaves no item waiting", arguments: ["slow", "bad"])
    func early(_ name: String) async throws {
        let strategy = DelayRetryStrategy(maxRetryCount: 1, retryInterval: .seconds(3600))
        let prefetcher = ImagePrefetcher(manager: fixture.manager, options: [.retryStrategy(strategy)])
        let list = try fixture.directory.write("list", (0..<3).map { "http://h/\(name)\($0).png\n" }.joined())
        let lists = try PrefetchLists(paths: [list.path])
        if name == "slow" { transport.close() }
        let run = Task { await prefetcher.prefetch(lists) { _ in } }
        await transport.requested(3)
        if name == "bad" { #expect(await eventually { !fixture.manager.isWorking }) }
        prefetcher.finishEarly(lists)
        transport.open()
        let report = await run.value
        // Transfers that have started go on to their end; a rest is given up, which does not count as a failure.
        #expect(report.counts == [0, 0, name == "slow" ? 3 : 0])
        #expect(report.progress.notTried == (name == "slow" ? 0 : 3))
        #expect(await eventually { !fixture.manager.isWorking })
    }
}
