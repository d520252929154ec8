import KFCore
import Support
import Testing

/// Lines as a user of Kingfisher writes them.
@Suite("Calls of the manager", .bounded)
struct ManagerCallTests {
    private let fixture: ManagerFixture
    private let transport: ScriptedTransport
    private let url: RequestURL
    private var manager: KingfisherManager { fixture.manager }

    init() throws {
        transport = ScriptedTransport(.init(headers: [("X-Backend", "a"), ("x-backend", "b")], body: try Self.body))
        fixture = try ManagerFixture(transport: transport)
        url = try RequestURL("http://h/a.png")
    }

    private static var body: [UInt8] { get throws { try ManagerFixture.fixture("png/rgb.png") } }

    @Test("The shared manager uses the default cache and downloader")
    func shared() {
        #expect(KingfisherManager.shared.cache === ImageCache.default)
        #expect(KingfisherManager.shared.downloader === ImageDownloader.default)
    }

    @Test("A URL, a resource and a source are retrieved alike")
    func sources() async throws {
        let first = try await manager.retrieveImage(with: url, options: [.waitForCache])
        #expect(first.cacheType == .none && !first.cacheType.cached && first.way == .fetched)
        #expect(try await manager.retrieveImage(with: url).cacheType == .memory)
        #expect(try await manager.retrieveImage(with: .network(url)).cacheType == .memory)
        manager.cache.clearMemoryCache()
        #expect(try await manager.retrieveImage(with: ImageResource(downloadURL: url)).cacheType == .disk)
        let named = ImageResource(downloadURL: url, cacheKey: "my_cache_key")
        #expect(try await manager.retrieveImage(with: named, options: [.waitForCache]).key == "my_cache_key")
        #expect(transport.requests.count == 2)
    }

    @Test("A completion handler gets the result and progress")
    func callbacks() async throws {
        let progress = SharedValue<[Int64]>([])
        let result = await withCheckedContinuation { continuation in
            manager.retrieveImage(
                with: url, options: [.processor(DefaultImageProcessor.default)],
                progressBlock: { received, _ in progress.change { $0.append(received) } }
            ) { result in
                continuation.resume(returning: result)
            }
        }
        #expect(try result.get().source.cacheKey == url.text)
        #expect(progress.value == [Int64(try Self.body.count)])
    }

    @Test("The default options apply to every kind of call")
    func defaults() async throws {
        manager.defaultOptions += [.onlyFromCache]
        let missing = KingfisherError.cacheError(reason: .imageNotExisting(key: url.text))
        await #expect(throws: missing) { try await manager.retrieveImage(with: url) }
        await #expect(throws: missing) { try await manager.retrieveImage(with: .network(url)) }
        await #expect(throws: missing) { try await manager.retrieveImage(with: .network(url), options: []) }
        await #expect(throws: missing) {
            try await manager.retrieveImage(with: .network(url), options: manager.options())
        }
        let called = await withCheckedContinuation { continuation in
            manager.retrieveImage(with: url) { continuation.resume(returning: $0) }
        }
        #expect(throws: missing) { try called.get() }
        for variant in await manager.retrieveVariants(of: url, options: [[], []]) {
            #expect(throws: missing) { try variant.get() }
        }
        let report = await ImagePrefetcher(manager: manager).prefetch([.network(url)])
        #expect(report.progress.failed == 1)
        #expect(transport.requests.isEmpty)
    }

    @Test("A closure can set any option")
    func everyOption() async throws {
        let options = KingfisherOptions([
            .downloadPriority(0.9), .with { $0.request.timeout = .seconds(3) },
            .with { $0.cacheProcessedImage = false },
        ])
        #expect(options.request.timeout == .seconds(3) && options.request.priority == 0.9)
        #expect(!options.cacheProcessedImage)
    }

    @Test("Kingfisher's processors, serializers and modifiers can be combined")
    func options() async throws {
        let processor =
            DownsamplingImageProcessor(width: 40, height: 40)
            |> RoundCornerImageProcessor(cornerRadius: 4)
            .append(another: BlurImageProcessor(blurRadius: 4))
        let dot = Image(try Bitmap(width: 1, height: 1, format: .rgb))
        let info: KingfisherOptionsInfo = [
            .processor(processor), .cacheSerializer(FormatIndicatedCacheSerializer.png), .waitForCache,
            .scaleFactor(1), .cacheOriginalImage, .diskCacheExpiration(.days(30)), .memoryCacheExpiration(.never),
            .retryStrategy(DelayRetryStrategy(maxRetryCount: 5, retryInterval: .seconds(3))),
            .imageModifier(AnyImageModifier { _ in dot }), .callbackQueue(.mainAsync),
        ]
        let result = try await manager.retrieveImage(with: url, options: info)
        #expect(try await result.image().width == 1)
        #expect(result.identifier.hasPrefix("downsample:40x40|>round-corner:4"))
        #expect(result.facts.format == .png && result.facts.width == 40)
    }

    @Test("Errors answer Kingfisher's questions")
    func errors() async throws {
        let fixture = try ManagerFixture(transport: ScriptedTransport(.init(status: 404)))
        let error = await #expect(throws: KingfisherError.self) { try await fixture.manager.retrieveImage(with: url) }
        #expect(error?.isInvalidResponseStatusCode(404) == true && error?.isInvalidResponseStatusCode(500) == false)
        #expect(error?.isTaskCancelled == false && error?.errorCode == 2002)
        transport.close()
        let result = await withCheckedContinuation { continuation in
            manager.retrieveImage(with: url) { continuation.resume(returning: $0) }.cancel()
        }
        guard case .failure(let cancelled) = result else { return #expect(Bool(false), "not cancelled") }
        #expect(cancelled.isTaskCancelled)
    }

    @Test("A result has the headers of its response")
    func headers() async throws {
        let response = try #require(try await manager.retrieveImage(with: url).response)
        #expect(response.header("x-BACKEND") == "a" && response.header("Server") == nil)
        #expect(response.headers.map(\.value) == ["a", "b"])
    }
}
