import Foundation
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Retrievals of one image", .bounded)
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

    private func get(_ items: KingfisherOptionsInfo = [.waitForCache]) async throws -> RetrieveImageResult {
        try await manager.retrieveImage(with: source, options: items)
    }

    private var resize: KingfisherOptionsInfoItem {
        get throws { .processor(try ProcessorParser.parse("resize:20x10")) }
    }

    private func place(_ identifier: String = "") async throws -> CacheType {
        try await manager.cache.imageCachedType(forKey: "key", processorIdentifier: identifier)
    }

    @Test("An image comes from its source, then memory, then disk")
    func places() async throws {
        let first = try await get()
        #expect(first.way == .fetched)
        #expect(first.facts.format == .jpeg && first.facts.width == 1024 && first.facts.height == 683)
        #expect(try await get().way == .memory)
        manager.cache.clearMemoryCache()
        let second = try await get()
        #expect(second.way == .disk && second.facts == first.facts)
        #expect(try await second.data() == jpeg)
        #expect(try await second.image().width == 1024)
        #expect(try await get().way == .memory)
        _ = try await manager.cache.removeAll()
        #expect(try await get().way == .fetched)
        #expect(provider.count == 2)
    }

    @Test("A cached image can be returned synchronously")
    func immediately() async throws {
        #expect(try manager.retrieveCachedImage(with: source, options: .init()) == nil)
        _ = try await manager.retrieveImage(with: source, options: ManagerFixture.options())
        #expect(try manager.retrieveCachedImage(with: source, options: .init())?.way == .disk)
        #expect(
            try manager.retrieveCachedImage(with: source, options: ManagerFixture.options { $0.forceRefresh = true })
                == nil)
    }

    @Test("An original that was not kept is fetched again")
    func processedOnly() async throws {
        #expect(try await manager.retrieveImage(with: source, options: ManagerFixture.resized()).way == .fetched)
        #expect(try await manager.retrieveImage(with: source, options: ManagerFixture.options()).way == .fetched)
        #expect(provider.count == 2)
        let again = try await manager.retrieveImage(with: source, options: ManagerFixture.resized())
        #expect(again.way == .memory)
        #expect(again.facts.width == 20 && again.facts.height == 10)
    }

    @Test("A kept original is processed without another fetch")
    func derived() async throws {
        _ = try await get([resize, .cacheOriginalImage, .waitForCache])
        let crop = KingfisherOptionsInfoItem.processor(CroppingImageProcessor(width: 30, height: 40))
        let made = try await get([crop, .waitForCache])
        #expect(made.way == .derived)
        #expect(made.facts.width == 30 && made.facts.height == 40)
        #expect(try await place(made.identifier) == .memory)
        manager.cache.clearMemoryCache()
        #expect(try await place(made.identifier) == .disk)
        #expect(try await manager.retrieveImage(with: source, options: ManagerFixture.options()).way == .disk)
        #expect(provider.count == 1)
    }

    @Test("A failing processor is error 4001")
    func failingProcessor() async throws {
        _ = try await get()
        let failing = CountingProcessor("failing", failing: .processingFailed(identifier: "failing", reason: "no"))
        #expect(await failure { try await get([.processor(failing)]) }?.errorCode == 4001)
    }

    @Test("An original can be kept in a cache of its own")
    func originalCache() async throws {
        let other = ImageCache(.init(directory: fixture.directory.path("originals").path))
        _ = try await get([resize, .originalCache(other), .cacheOriginalImage, .waitForCache])
        #expect(try await other.imageCachedType(forKey: "key") == .disk)
        #expect(try await place() == .none)
        let crop = CroppingImageProcessor(width: 3, height: 3)
        #expect(try await get([.processor(crop), .originalCache(other), .waitForCache]).way == .derived)
        #expect(provider.count == 1)
    }

    @Test("A serializer's quality decides the stored bytes")
    func quality() async throws {
        let encoding = EncodeOptions(quality: 80)
        let serializer = FormatIndicatedCacheSerializer(format: .jpeg, options: encoding)
        let result = try await get([resize, .cacheSerializer(serializer), .waitForCache])
        let image = try ProcessorParser.parse("resize:20x10").process(.data(jpeg), options: ProcessingOptions())
        #expect(try await result.data() == ImageEncoder.encode(image, as: .jpeg, options: encoding))
    }

    @Test("A call's own options override the defaults")
    func defaultOptions() async throws {
        manager.defaultOptions = [try resize, .scaleFactor(2), .waitForCache]
        #expect(try await get([]).facts.width == 40)
        #expect(try await get([.scaleFactor(1)]).facts.width == 20)
    }

    @Test("An image modifier changes only the result")
    func imageModifier() async throws {
        let dot = Image(try Bitmap(width: 1, height: 1, format: .rgba))
        let modified = try await get([resize, .waitForCache, .imageModifier(AnyImageModifier { _ in dot })])
        #expect(try await modified.image().width == 1)
        #expect(try await get([resize]).image().width == 20)
    }

    @Test("A forced refresh ignores the cache")
    func forced() async throws {
        _ = try await get()
        #expect(try await get([.forceRefresh, .onlyFromCache, .waitForCache]).way == .fetched)
        #expect(provider.count == 2)
    }

    @Test("A refresh on a memory miss ignores the disk")
    func memoryOrRefresh() async throws {
        _ = try await get()
        #expect(try await get([.fromMemoryCacheOrRefresh]).way == .memory)
        manager.cache.clearMemoryCache()
        #expect(try await get([.fromMemoryCacheOrRefresh, .waitForCache]).way == .fetched)
        #expect(provider.count == 2)
    }

    @Test("An expired image is fetched again")
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

    @Test("A memory-only image is not stored on the disk")
    func memoryOnly() async throws {
        let options = try ManagerFixture.resized { $0.cacheMemoryOnly = true }
        let first = try await manager.retrieveImage(with: source, options: options)
        #expect(first.way == .fetched && first.cachedPath == nil)
        let second = try await manager.retrieveImage(with: source, options: options)
        #expect(second.way == .memory)
        #expect(try await second.data() == first.data())
        #expect(try await manager.cache.summary()?.totals.entries == 0)
    }

    @Test("Each target format is a separate cache entry")
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

    @Test("Bytes other than an image are refused and not stored")
    func refused() async throws {
        for (bytes, code, word) in [
            (Array("<!DOCTYPE html><html></html>".utf8), 2007, "HTML"), (Array("text".utf8), 2007, ""), ([], 2007, ""),
            (Array(jpeg.dropLast(1000)), 2008, ""),
        ] {
            let bad = CountingProvider("bad", bytes)
            let error = try #require(await failure { try await manager.retrieveImage(with: .provider(bad)) })
            #expect(error.errorCode == code && (word.isEmpty || error.message.contains(word)), "\(error.message)")
        }
        #expect(try await manager.cache.summary()?.totals.entries == 0)
    }

    @Test("An image is delivered although its store fails")
    func storeFails() async throws {
        var configuration = ImageCache.Configuration(
            directory: fixture.directory.url.appendingPathComponent("small").path)
        configuration.diskSizeLimit = 1000
        let manager = KingfisherManager(cache: ImageCache(configuration))
        let result = try await manager.retrieveImage(with: source, options: ManagerFixture.options())
        #expect(result.storing.diskError?.errorCode == 3014)
        #expect(try await result.data() == jpeg)
    }

    @Test("A failure in a run refuses no other URL of its key")
    func otherURL() async throws {
        let (fixture, transport) = try answering(.init(status: 404), .init(body: jpeg))
        func get(_ path: String, _ answers: RunAnswers?) async throws -> RetrieveImageResult {
            let resource = ImageResource(downloadURL: try RequestURL("http://h/\(path)"), cacheKey: "k")
            let options = ManagerFixture.options { ($0.negativeTimeToLive, $0.answers) = (.seconds(60), answers) }
            return try await fixture.manager.retrieveImage(with: .network(resource), options: options)
        }
        let run = RunAnswers()
        await #expect(throws: KingfisherError.self) { try await get("a", run) }
        await #expect(throws: KingfisherError.self, "another run obeys it") { try await get("b", nil) }
        #expect(try await get("b", run).way == .fetched)
        #expect(transport.requests.count == 2)
    }

    @Test("An image is stored although the store of its original fails", arguments: [true, false])
    func originalFails(waits: Bool) async throws {
        let failures = SharedValue<[CacheStoreFailure]>([])
        let fixture = try ManagerFixture(caching: {
            $0.diskSizeLimit = 60_000
            $0.didFailToStore = { failure in failures.change { $0.append(failure) } }
        })
        let options = try ManagerFixture.resized { ($0.waitForCache, $0.cacheOriginalImage) = (waits, true) }
        let result = try await fixture.manager.retrieveImage(with: source, options: options)
        await fixture.manager.shutdown()
        #expect(result.storing.diskError == nil)
        #expect(result.storing.originalError?.errorCode == (waits ? 3014 : nil))
        #expect(failures.value.map(\.name.identifier) == (waits ? [] : [""]))
        let cached = fixture.manager.cache
        #expect(try await cached.imageCachedType(forKey: "key", processorIdentifier: result.identifier) != .none)
    }
}
