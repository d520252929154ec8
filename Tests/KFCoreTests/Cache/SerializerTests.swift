import KFCore
import Support
import Testing

/// Stores every byte inverted.
private struct Inverting: CacheSerializer {
    let identifier = "test.inverted"

    func data(for image: Image, original: ImageFormat?) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat) {
        (try ImageEncoder.encode(image, as: .png).map { ~$0 }, .png)
    }

    func image(with data: [UInt8], options: DecodeOptions) throws(ImagingError) -> Image {
        try ImageDecoder.decode(data.map { ~$0 }, options: options)
    }
}

@Suite("Serializers and keys", .bounded)
struct SerializerTests {
    private let fixture: ManagerFixture
    private let transport: ScriptedTransport
    private let url: RequestURL
    private let body: [UInt8]
    private var manager: KingfisherManager { fixture.manager }

    init() throws {
        let body = try ManagerFixture.fixture("jpeg/landscape-444.jpg")
        self.body = body
        transport = ScriptedTransport(.init(body: body))
        fixture = try ManagerFixture(transport: transport)
        url = try RequestURL("http://h/a.jpg")
    }

    @Test("An encrypting serializer decodes the images that it stored")
    func encrypting() async throws {
        let crop = CroppingImageProcessor(width: 9, height: 9)
        for options in [[], [.processor(crop)]] as [KingfisherOptionsInfo] {
            let options = options + [.cacheSerializer(Inverting()), .waitForCache]
            let fresh = try await manager.retrieveImage(with: url, options: options).image()
            manager.cache.clearMemoryCache()
            let cached = try await manager.retrieveImage(with: url, options: options)
            #expect(cached.way == .disk)
            #expect(try await cached.image().bitmap == fresh.bitmap)
            #expect(try await cached.data().starts(with: [~0x89, ~0x50]))
            #expect(try await manager.retrieveImage(with: url, options: options).way == .memory)
            #expect(try await manager.retrieveImage(with: url, options: options).image().bitmap == fresh.bitmap)
            manager.cache.clearMemoryCache()
            #expect(
                try await manager.cache.retrieveImage(forKey: url.text, options: options).image?.bitmap == fresh.bitmap)
        }
        #expect(try await !manager.cache.isCached(forKey: url.text))
        let image = try ImageDecoder.decode(body)
        _ = await manager.cache.store(image, forKey: "k", cacheSerializer: Inverting())
        manager.cache.clearMemoryCache()
        let found = try await manager.cache.retrieveImage(forKey: "k", options: [.cacheSerializer(Inverting())])
        #expect(found.image?.bitmap == image.bitmap)
    }

    @Test("A serializer can keep the bytes of originals")
    func originalData() async throws {
        var serializer = DefaultCacheSerializer.default
        #expect(serializer.identifier.isEmpty)
        serializer.options.quality = 30
        let encoded = try await manager.retrieveImage(with: url, options: [.cacheSerializer(serializer)])
        #expect(try await encoded.data() != body)
        serializer.preferCacheOriginalData = true
        let kept = try await manager.retrieveImage(
            with: url, options: [.cacheSerializer(serializer), .waitForCache])
        #expect(try await kept.data() == body)
        let crop = CroppingImageProcessor(width: 9, height: 9)
        let cropped = try await manager.retrieveImage(
            with: url, options: [.cacheSerializer(serializer), .processor(crop)])
        #expect(cropped.facts.width == 9)
    }

    @Test("A function can provide the cache key of a URL")
    func keyFilter() async throws {
        let filter: KingfisherOptionsInfo = [
            .with { $0.request.cacheKeyFilter = { "image:\($0.lastPathComponent)" } }, .waitForCache,
        ]
        let first = try await manager.retrieveImage(with: RequestURL("http://one/a.jpg?signature=1"), options: filter)
        #expect(first.key == "image:a.jpg" && transport.requests[0].url == "http://one/a.jpg?signature=1")
        let second = try await manager.retrieveImage(with: RequestURL("http://two/a.jpg?signature=2"), options: filter)
        #expect(second.way == .memory)
        let user = try await manager.retrieveImage(
            with: RequestURL("http://one/a.jpg"), options: filter + [.with { $0.request.headers = [("Cookie", "u")] }])
        #expect(user.way == .fetched && user.key.hasPrefix("image:a.jpg#user="))
    }

    @Test(
        "Ignored query parameters are left out of the key",
        arguments: [
            (["X-Amz-*"], "?X-Amz-Date=1&w=2&X-Amz-Signature=3", "?w=2"), (["token"], "?token=1", ""),
            (["t[ab]"], "?ta=1&tc=2&tb", "?tc=2"), (["a b"], "?a%20b=1&c", "?c"), (["x"], "?b=x&a=1", "?b=x&a=1"),
            ([], "?a", "?a"), (["a"], "", ""),
        ])
    func ignoredParameters(_ patterns: [String], _ query: String, _ kept: String) throws {
        var request = RequestOptions()
        request.ignoredParameters = patterns
        let source = Source.network(try RequestURL("http://h/a\(query)"))
        #expect(source.cacheKey(for: request) == "http://h/a\(kept)")
    }
}
