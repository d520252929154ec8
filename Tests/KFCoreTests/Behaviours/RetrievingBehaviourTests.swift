import KFNetwork
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

/// What Kingfisher does with caches and options, as its users rely on it.
@Suite("Behaviours: retrieving", .bounded)
struct RetrievingBehaviourTests {
    private let url = "http://h/a.png"

    private func fixture(_ body: [UInt8]? = nil) throws -> (ManagerFixture, ScriptedTransport) {
        let picture = try body ?? ManagerFixture.fixture("png/rgb.png")
        let transport = ScriptedTransport(.init(body: picture))
        return (try ManagerFixture(transport: transport), transport)
    }

    private func get(
        _ fixture: ManagerFixture, _ items: KingfisherOptionsInfo = [.waitForCache]
    ) async throws -> RetrieveImageResult {
        try await fixture.manager.retrieveImage(with: .network(RequestURL(url)), options: items)
    }

    private var resize: KingfisherOptionsInfoItem {
        get throws { .processor(try ProcessorParser.parse("resize:20x10")) }
    }

    private func kept(_ fixture: ManagerFixture, _ identifier: String = "") async throws -> CacheType {
        try await fixture.manager.cache.imageCachedType(forKey: url, processorIdentifier: identifier)
    }

    @Test("First get: fetched; second: memory; memory cleared: disk; both cleared: fetched")
    func firstAndSecond() async throws {
        let (fixture, transport) = try fixture()
        #expect(try await get(fixture).way == .fetched)
        #expect(try await get(fixture).way == .memory)
        fixture.manager.cache.clearMemoryCache()
        #expect(try await get(fixture).way == .disk)
        #expect(try await get(fixture).way == .memory)
        _ = try await fixture.manager.cache.removeAll()
        #expect(try await get(fixture).way == .fetched)
        #expect(transport.requests.count == 2)
    }

    @Test("Fetched with a processor, then without: fetched again; with the processor again: memory")
    func processorThenNone() async throws {
        let (fixture, transport) = try fixture()
        #expect(try await get(fixture, [resize, .waitForCache]).way == .fetched)
        #expect(try await get(fixture).way == .fetched)
        #expect(try await get(fixture, [resize, .waitForCache]).way == .memory)
        #expect(transport.requests.count == 2)
    }

    @Test("The original is junk and a processor is asked for: succeeds by download")
    func junkOriginal() async throws {
        let (fixture, transport) = try fixture()
        let cache = fixture.manager.cache
        var facts = EntryFacts()
        facts.fileExtension = "png"
        _ = try await cache.storeOnDisk(.memory([1, 2, 3]), EntryKey(key: url), facts)
        #expect(try await get(fixture, [resize, .waitForCache]).way == .fetched)
        #expect(transport.requests.count == 1)
    }

    @Test("forceRefresh over a cached entry: fetched")
    func forceRefresh() async throws {
        let (fixture, transport) = try fixture()
        _ = try await get(fixture)
        #expect(try await get(fixture, [.forceRefresh, .onlyFromCache, .waitForCache]).way == .fetched)
        #expect(transport.requests.count == 2)
    }

    @Test("onlyFromCache and a miss: 3006 with the key, no request made")
    func onlyFromCache() async throws {
        let (fixture, transport) = try fixture()
        let error = await #expect(throws: KingfisherError.self) { try await get(fixture, [.onlyFromCache]) }
        #expect(error == .cacheError(reason: .imageNotExisting(key: url)))
        #expect(error?.errorCode == 3006)
        #expect(transport.requests.isEmpty)
    }

    @Test("Original cached, new processor: no network, the result is cached")
    func newProcessor() async throws {
        let (fixture, transport) = try fixture()
        _ = try await get(fixture)
        #expect(try await get(fixture, [resize, .waitForCache]).way == .derived)
        #expect(try await kept(fixture, "resize:20x10,none") == .memory)
        fixture.manager.cache.clearMemoryCache()
        #expect(try await kept(fixture, "resize:20x10,none") == .disk)
        #expect(transport.requests.count == 1)
    }

    @Test("A processor that fails on the original: 4001")
    func failingProcessor() async throws {
        let (fixture, _) = try fixture()
        _ = try await get(fixture)
        let failing = CustomImageProcessor(identifier: "failing") { _ throws(ImagingError) in
            throw ImagingError.processingFailed(identifier: "failing", reason: "no")
        }
        let error = await #expect(throws: KingfisherError.self) { try await get(fixture, [.processor(failing)]) }
        #expect(error?.errorCode == 4001)
    }

    @Test("cacheOriginalImage: both on the disk; without it only the processed one")
    func cacheOriginalImage() async throws {
        for keeps in [true, false] {
            let (fixture, _) = try fixture()
            _ = try await get(fixture, [resize, .waitForCache] + (keeps ? [.cacheOriginalImage] : []))
            fixture.manager.cache.clearMemoryCache()
            #expect(try await kept(fixture, "resize:20x10,none") == .disk)
            #expect(try await kept(fixture) == (keeps ? .disk : .none))
        }
    }

    @Test("waitForCache: on the disk at completion")
    func waitForCache() async throws {
        let (fixture, _) = try fixture()
        let result = try await get(fixture, [resize, .cacheOriginalImage, .waitForCache])
        #expect(result.cachedPath != nil)
        fixture.manager.cache.clearMemoryCache()
        #expect(try await kept(fixture) == .disk)
        #expect(try await kept(fixture, "resize:20x10,none") == .disk)
    }

    @Test("fromMemoryCacheOrRefresh with an entry that is on the disk alone: fetched")
    func fromMemoryCacheOrRefresh() async throws {
        let (fixture, transport) = try fixture()
        _ = try await get(fixture)
        #expect(try await get(fixture, [.fromMemoryCacheOrRefresh]).way == .memory)
        fixture.manager.cache.clearMemoryCache()
        #expect(try await get(fixture, [.fromMemoryCacheOrRefresh, .waitForCache]).way == .fetched)
        #expect(transport.requests.count == 2)
    }

    @Test("An unprocessed image's file equals the download")
    func fileEqualsDownload() async throws {
        let body = try ManagerFixture.fixture("jpeg/progressive.jpg")
        let (fixture, _) = try fixture(body)
        #expect(try await get(fixture).file?.readAll() == body)
    }

    @Test("A serializer's quality: the bytes are the encode at that quality")
    func quality() async throws {
        let body = try ManagerFixture.fixture("jpeg/progressive.jpg")
        let (fixture, _) = try fixture(body)
        var encoding = EncodeOptions()
        encoding.quality = 80
        let serializer = FormatIndicatedCacheSerializer(format: .jpeg, options: encoding)
        let result = try await get(fixture, [resize, .cacheSerializer(serializer), .waitForCache])
        let image = try ProcessorParser.parse("resize:20x10").process(.data(body), options: ProcessingOptions())
        #expect(try await result.data() == ImageEncoder.encode(image, as: .jpeg, options: encoding))
    }

    @Test("defaultOptions come first, a call's own win")
    func defaultOptions() async throws {
        let (fixture, _) = try fixture()
        fixture.manager.defaultOptions = [try resize, .scaleFactor(2), .waitForCache]
        #expect(try await get(fixture, []).facts.width == 40)
        #expect(try await get(fixture, [.scaleFactor(1)]).facts.width == 20)
    }

    @Test("The image modifier changes the result and nothing that is cached")
    func imageModifier() async throws {
        let (fixture, _) = try fixture()
        let dot = Image(try Bitmap(width: 1, height: 1, format: .rgba))
        let modified = try await get(fixture, [resize, .waitForCache, .imageModifier(AnyImageModifier { _ in dot })])
        #expect(try await modified.image().width == 1)
        #expect(try await get(fixture, [resize]).image().width == 20)
    }

    @Test("The original is kept in a cache of its own, and found there")
    func originalCache() async throws {
        let (fixture, transport) = try fixture()
        let other = ImageCache(.init(directory: fixture.directory.url.appendingPathComponent("originals").path))
        _ = try await get(fixture, [resize, .originalCache(other), .cacheOriginalImage, .waitForCache])
        #expect(try await other.imageCachedType(forKey: url) == .disk)
        #expect(try await kept(fixture) == .none)
        let crop = CroppingImageProcessor(width: 3, height: 3)
        #expect(
            try await get(fixture, [.processor(crop), .originalCache(other), .waitForCache]).way == .derived)
        #expect(transport.requests.count == 1)
    }

    @Test(
        "Exactly one completion, whatever is waited for and kept",
        arguments: [(false, false), (false, true), (true, false), (true, true)])
    func completions(_ waits: Bool, _ keepsOriginal: Bool) async throws {
        let (fixture, _) = try fixture()
        let count = SharedValue(0)
        var items: KingfisherOptionsInfo = [try resize, .callbackQueue(.untouch)]
        if waits { items.append(.waitForCache) }
        if keepsOriginal { items.append(.cacheOriginalImage) }
        let address = try RequestURL(url)
        let result = await withCheckedContinuation { continuation in
            fixture.manager.retrieveImage(with: .network(address), options: items) { result in
                count.value += 1
                continuation.resume(returning: result)
            }
        }
        #expect(try result.get().way == .fetched)
        await fixture.manager.shutdown()
        fixture.manager.cache.clearMemoryCache()
        #expect(count.value == 1)
        #expect(try await kept(fixture, "resize:20x10,none") == .disk)
        #expect(try await kept(fixture) == (keepsOriginal ? .disk : .none))
    }
}
