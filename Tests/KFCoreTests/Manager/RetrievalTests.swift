import Foundation
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Retrieving", .bounded)
struct RetrievalTests {
    private let fixture: ManagerFixture
    private let jpeg: [UInt8]
    private let provider: CountingProvider

    private var manager: KingfisherManager { fixture.manager }
    private var source: Source { .provider(provider) }

    init() throws {
        fixture = try ManagerFixture()
        jpeg = try ManagerFixture.fixture("jpeg/progressive.jpg")
        provider = CountingProvider("key", jpeg)
    }

    @Test("The first time it is fetched, then it comes from the disk, byte for byte")
    func firstAndSecond() async throws {
        let first = try await manager.retrieveImage(with: source, options: ManagerFixture.options())
        #expect(first.way == .fetched)
        #expect(first.facts.format == .jpeg && first.facts.width == 1024 && first.facts.height == 683)
        let second = try await manager.retrieveImage(with: source, options: ManagerFixture.options())
        #expect(second.way == .disk)
        #expect(try await second.data() == jpeg)
        #expect(try await second.image().width == 1024)
        #expect(second.facts == first.facts)
        #expect(provider.count == 1)
    }

    @Test("What is cached can be had without waiting, what is not is nil")
    func immediately() async throws {
        #expect(try manager.retrieveCachedImage(with: source, options: .init()) == nil)
        _ = try await manager.retrieveImage(with: source, options: ManagerFixture.options())
        #expect(try manager.retrieveCachedImage(with: source, options: .init())?.way == .disk)
        #expect(
            try manager.retrieveCachedImage(with: source, options: ManagerFixture.options { $0.forceRefresh = true })
                == nil)
    }

    @Test("With a processor and without the original kept, the original is fetched again")
    func processedOnly() async throws {
        #expect(try await manager.retrieveImage(with: source, options: ManagerFixture.resized()).way == .fetched)
        #expect(try await manager.retrieveImage(with: source, options: ManagerFixture.options()).way == .fetched)
        #expect(provider.count == 2)
        let again = try await manager.retrieveImage(with: source, options: ManagerFixture.resized())
        #expect(again.way == .memory)
        #expect(again.facts.width == 20 && again.facts.height == 10)
    }

    @Test("With the original kept, another processor makes its image from it")
    func derived() async throws {
        _ = try await manager.retrieveImage(
            with: source, options: ManagerFixture.resized { $0.cacheOriginalImage = true })
        let cropped = ManagerFixture.options { $0.processor = CroppingImageProcessor(width: 30, height: 40) }
        let made = try await manager.retrieveImage(with: source, options: cropped)
        #expect(made.way == .derived)
        #expect(made.facts.width == 30 && made.facts.height == 40)
        #expect(try await manager.retrieveImage(with: source, options: ManagerFixture.options()).way == .disk)
        #expect(provider.count == 1)
    }

    @Test("An original that is junk is fetched again")
    func junkOriginal() async throws {
        _ = try await manager.retrieveImage(with: source, options: ManagerFixture.options())
        let path = try #require(
            try await manager.retrieveImage(with: source, options: ManagerFixture.options()).cachedPath)
        try FileManager.default.removeItem(atPath: path)
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path))
        let made = try await manager.retrieveImage(with: source, options: ManagerFixture.resized())
        #expect(made.way == .fetched)
        #expect(provider.count == 2)
    }

    @Test("Forcing a refresh goes past what is cached, also past only-from-cache")
    func forced() async throws {
        _ = try await manager.retrieveImage(with: source, options: ManagerFixture.options())
        let options = ManagerFixture.options {
            $0.forceRefresh = true
            $0.onlyFromCache = true
        }
        #expect(try await manager.retrieveImage(with: source, options: options).way == .fetched)
        #expect(provider.count == 2)
    }

    @Test("Only from the cache: a miss is 3006 and asks nobody")
    func onlyFromCache() async throws {
        let options = ManagerFixture.options { $0.onlyFromCache = true }
        await #expect(throws: KingfisherError.cacheError(reason: .imageNotExisting(key: "key"))) {
            try await manager.retrieveImage(with: source, options: options)
        }
        #expect(provider.count == 0)
    }

    @Test("An expired entry is fetched again, an expired expiration stores nothing")
    func expired() async throws {
        let short = ManagerFixture.options { $0.diskCacheExpiration = .seconds(1) }
        _ = try await manager.retrieveImage(with: source, options: short)
        #expect(try await manager.retrieveImage(with: source, options: short).way == .disk)
        fixture.advance(seconds: 5)
        #expect(try await manager.retrieveImage(with: source, options: short).way == .fetched)
        let never = CountingProvider("never", jpeg)
        let result = try await manager.retrieveImage(
            with: .provider(never), options: ManagerFixture.options { $0.diskCacheExpiration = .expired })
        #expect(result.cachedPath == nil)
        #expect(try await result.data() == jpeg)
        #expect(try await manager.cache.isCached(forKey: "never") == false)
    }

    @Test("Memory only: nothing reaches the disk, the processed image is in memory")
    func memoryOnly() async throws {
        let options = try ManagerFixture.resized { $0.cacheMemoryOnly = true }
        let first = try await manager.retrieveImage(with: source, options: options)
        #expect(first.way == .fetched && first.cachedPath == nil)
        let second = try await manager.retrieveImage(with: source, options: options)
        #expect(second.way == .memory)
        #expect(try await second.data() == first.data())
        #expect(try await manager.cache.summary()?.totals.entries == 0)
    }

    @Test("A format that was asked for is another entry; the same format is not encoded again")
    func formats() async throws {
        let png = ManagerFixture.options { $0.cacheSerializer = FormatIndicatedCacheSerializer(format: .png) }
        let converted = try await manager.retrieveImage(with: source, options: png)
        #expect(converted.facts.format == .png && converted.identifier == "encode:png")
        let same = ManagerFixture.options { $0.cacheSerializer = FormatIndicatedCacheSerializer(format: .jpeg) }
        #expect(try await manager.retrieveImage(with: source, options: same).data() == jpeg)
        let other = ManagerFixture.options {
            $0.cacheSerializer = FormatIndicatedCacheSerializer(format: .jpeg, options: EncodeOptions(quality: 30))
        }
        let encoded = try await manager.retrieveImage(with: source, options: other)
        #expect(encoded.identifier == "encode:jpeg,quality=30")
        #expect(try await encoded.data().count < jpeg.count)
    }

    @Test("What is no image is refused, and nothing of it stays")
    func refused() async throws {
        for (bytes, code) in [
            (Array("<!DOCTYPE html><html></html>".utf8), 2007), (Array("text".utf8), 2007), ([], 2007),
            (Array(jpeg.dropLast(1000)), 2008),
        ] {
            let bad = CountingProvider("bad", bytes)
            let error = await #expect(throws: KingfisherError.self) {
                try await manager.retrieveImage(with: .provider(bad))
            }
            #expect(error?.errorCode == code)
        }
        #expect(try await manager.cache.summary()?.totals.entries == 0)
    }

    @Test("A bad source and a good alternative: success, and both are named")
    func alternative() async throws {
        let bad = Source.provider(CountingProvider("bad", [1, 2, 3]))
        let options = ManagerFixture.options { $0.alternativeSources = [source] }
        let result = try await manager.retrieveImage(with: bad, options: options)
        #expect(result.source.cacheKey == "key" && result.originalSource.cacheKey == "bad")
    }

    @Test("Three bad sources: one error with all three in order")
    func exhausted() async throws {
        let sources = [[1], [2], Array("<html>".utf8)].map { Source.provider(CountingProvider("\($0)", $0)) }
        let options = ManagerFixture.options { $0.alternativeSources = Array(sources.dropFirst()) }
        let error = await #expect(throws: KingfisherError.self) {
            try await manager.retrieveImage(with: sources[0], options: options)
        }
        guard case .sourceError(reason: .alternativeSourcesExhausted(let errors)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.errorCode == 5004)
        #expect(errors.map(\.error.errorCode) == [2007, 2007, 2007])
        #expect(errors.map(\.source.cacheKey) == sources.map(\.cacheKey))
        #expect(errors.last?.error.message.contains("HTML") == true)
    }

    @Test("Many at once for one source: one request, all get it")
    func joined() async throws {
        let gate = StopSignal()
        let provider = CountingProvider("key", jpeg, gate: gate)
        let (manager, source) = (manager, Source.provider(provider))
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for index in 0..<20 {
                group.addTask {
                    let options =
                        try index % 2 == 0
                        ? KingfisherOptions() : ManagerFixture.resized { $0.cacheOriginalImage = true }
                    return try await manager.retrieveImage(with: source, options: options).data()
                }
            }
            #expect(await eventually { manager.downloader.work.waiterCount == 20 })
            gate.give()
            for try await bytes in group { #expect(!bytes.isEmpty) }
        }
        #expect(provider.count == 1)
    }

    @Test("A full disk does not take the image from who asked for it")
    func storeFails() async throws {
        var configuration = ImageCache.Configuration(
            directory: fixture.directory.url.appendingPathComponent("small").path)
        configuration.diskSizeLimit = 1000
        let manager = KingfisherManager(cache: ImageCache(configuration))
        let result = try await manager.retrieveImage(with: source, options: ManagerFixture.options())
        #expect(result.storing.diskError?.errorCode == 3014)
        #expect(try await result.data() == jpeg)
    }

    @Test("Retries are for what may pass, and end")
    func retries() {
        let strategy = DelayRetryStrategy(maxRetryCount: 2, retryInterval: .accumulated(3))
        func decide(_ error: KingfisherError, _ count: Int) -> RetryDecision {
            strategy.decide(RetryContext(source: source, error: error, retriedCount: count))
        }
        let broken = KingfisherError.responseError(
            reason: .transferError(.interrupted, detail: "reset", isTransient: true))
        #expect(decide(broken, 0) == .retry(after: .seconds(3)))
        #expect(decide(broken, 1) == .retry(after: .seconds(6)))
        #expect(decide(broken, 2) == .stop)
        #expect(decide(.responseError(reason: .invalidHTTPStatusCode(404)), 0) == .stop)
        #expect(decide(.responseError(reason: .invalidHTTPStatusCode(503)), 0) != .stop)
        #expect(decide(.cacheError(reason: .imageNotExisting(key: "k")), 0) == .stop)
    }
}
