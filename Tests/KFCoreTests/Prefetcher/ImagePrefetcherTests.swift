import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The prefetcher", .bounded)
struct ImagePrefetcherTests {
    private let transport: ScriptedTransport
    private let fixture: ManagerFixture

    init() throws {
        let body = try ManagerFixture.fixture("png/rgb.png")
        transport = ScriptedTransport { request, _ in
            request.url.contains("bad") ? .init(status: 503) : .init(body: body)
        }
        fixture = try ManagerFixture(transport: transport)
    }

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
        #expect(await prefetcher.prefetch([try source("again")]).progress.notTried == 1)
    }

    @Test("A failing cache ends the prefetch before any request")
    func failingCache() async throws {
        let file = try fixture.directory.write("file", "x").path
        let manager = KingfisherManager(
            cache: ImageCache(.init(directory: file)), downloader: fixture.manager.downloader)
        #expect(await failure { try await manager.retrieveImage(with: source("a")) }?.errorCode == 3011)
        let report = await ImagePrefetcher(manager: manager).prefetch([try source("a"), try source("b")])
        guard case .failed(let error) = report.ending else {
            Issue.record("ended by \(report.ending)")
            return
        }
        #expect(error.errorCode == 3011)
        #expect(transport.requests.isEmpty)
        #expect(try await fixture.manager.retrieveImage(with: source("a")).way == .fetched)
    }

    @Test("A prefetcher lists skipped, failed and completed sources")
    func lists() async throws {
        let urls = try ["a.png", "b.png", "bad"].map { try RequestURL("http://h/\($0)") }
        let manager = fixture.manager
        _ = try await manager.retrieveImage(with: urls[0], options: [.waitForCache])
        let steps = SharedValue<[[Int]]>([])
        let (skipped, failed, completed) = await withCheckedContinuation { continuation in
            let prefetcher = ImagePrefetcher(
                urls: urls, manager: manager,
                progressBlock: { skipped, failed, completed in
                    steps.change { $0.append([skipped.count, failed.count, completed.count]) }
                },
                completionHandler: { skipped, failed, completed in
                    continuation.resume(returning: (skipped, failed, completed))
                })
            prefetcher.start()
            prefetcher.start()
        }
        #expect(skipped.map(\.cacheKey) == [urls[0].text] && failed.map(\.cacheKey) == [urls[2].text])
        #expect(completed.map(\.cacheKey) == [urls[1].text])
        #expect(steps.value.count == 3 && steps.value.last == [1, 1, 1])
        let forced = ImagePrefetcher(manager: manager, options: [.forceRefresh])
        #expect((await forced.prefetch(urls.map { .network($0) })).counts == [0, 1, 2])
    }

    @Test("A prefetcher loads cached images into memory on request")
    func toMemory() async throws {
        let (manager, item) = (fixture.manager, try source("a"))
        _ = try await manager.retrieveImage(with: item, options: [.waitForCache])
        for (options, way) in [([], .disk), ([.alsoPrefetchToMemory], .memory)]
            as [(KingfisherOptionsInfo, RetrievalWay)]
        {
            manager.cache.clearMemoryCache()
            #expect(await ImagePrefetcher(manager: manager, options: options).prefetch([item]).counts == [1, 0, 0])
            #expect(try await manager.retrieveImage(with: item).way == way)
        }
    }

    @Test("A prefetcher can fill another cache")
    func otherCache() async throws {
        let other = ImageCache(.init(directory: fixture.directory.path("other").path))
        let (manager, url) = (fixture.manager, try RequestURL("http://h/a.png"))
        let resources: [any Resource] = [ImageResource(downloadURL: url, cacheKey: "k")]
        let counts = await ended { handler in
            ImagePrefetcher(
                resources: resources, options: [.targetCache(other)], manager: manager, completionHandler: handler)
        }
        #expect(counts == [0, 0, 1])
        #expect(try await other.isCached(forKey: "k"))
        #expect(try await !manager.cache.isCached(forKey: "k"))
        #expect(await ended { ImagePrefetcher(sources: [], manager: manager, completionHandler: $0) } == [0, 0, 0])
        transport.close()
        let stopped = await ended { handler in
            let prefetcher = ImagePrefetcher(urls: [url], manager: manager, completionHandler: handler)
            prefetcher.stop()
            return prefetcher
        }
        #expect(stopped == [0, 1, 0])
    }

    private func ended(_ make: (@escaping PrefetcherProgressBlock) -> ImagePrefetcher) async -> [Int] {
        await withCheckedContinuation { continuation in
            make { skipped, failed, completed in
                continuation.resume(returning: [skipped.count, failed.count, completed.count])
            }.start()
        }
    }
}
