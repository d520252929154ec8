import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Kingfisher's calls of the downloader and the prefetcher", .bounded)
struct DownloaderCallTests {
    private let fixture: ManagerFixture
    private let transport: ScriptedTransport
    private let url: RequestURL
    private var manager: KingfisherManager { fixture.manager }

    init() throws {
        let body = try ManagerFixture.fixture("png/rgb.png")
        transport = ScriptedTransport { request, _ in
            request.url.hasSuffix("missing") ? .init(status: 404) : .init(body: body)
        }
        fixture = try ManagerFixture(transport: transport)
        url = try RequestURL("http://h/a.png")
    }

    @Test("A download takes a list of options")
    func downloading() async throws {
        let options: KingfisherOptionsInfo = [.processor(ResizingImageProcessor(width: 5, height: 5))]
        #expect(try await manager.downloader.downloadImage(with: url).url == url)
        #expect(try await manager.downloader.downloadImage(with: url, options: options).image.width == 5)
        let received = SharedValue<Int64>(0)
        let result = await withCheckedContinuation { continuation in
            manager.downloader.downloadImage(
                with: url, options: options, progressBlock: { count, _ in received.value = count }
            ) { result in
                continuation.resume(returning: result)
            }
        }
        let loaded = try result.get()
        #expect(loaded.image.width == 5 && received.value == Int64(loaded.originalData.count))
    }

    @Test("A result names the URL of the modified request", arguments: [nil, "signer"])
    func modified(_ identity: String?) async throws {
        let other = try RequestURL("http://h/modified.png")
        let modifier = AnyModifier(cacheIdentity: identity) { request in
            var request = request
            request.url = other
            return request
        }
        let result = try await manager.downloader.downloadImage(with: url, options: [.requestModifier(modifier)])
        #expect(result.url == other)
    }

    @Test("A call's download task can be cancelled alone")
    func taskStarted() async throws {
        transport.close()
        let tasks = Mutex<[DownloadTask]>([])
        let modifier = AnyModifier(
            cacheIdentity: "", onDownloadTaskStarted: { task in tasks.withLock { $0.append(task) } }, modify: { $0 })
        let (manager, url) = (manager, url)
        let first = Task { try await manager.retrieveImage(with: url, options: [.requestModifier(modifier)]) }
        #expect(await eventually { tasks.withLock { $0.count } == 1 })
        let second = Task { try await manager.retrieveImage(with: url, options: [.requestModifier(modifier)]) }
        // The modifier is called before the call joins the transfer.
        #expect(await eventually { tasks.withLock { $0.count } == 2 && manager.downloader.work.waiterCount == 2 })
        tasks.withLock { $0[0] }.cancel()
        await #expect(throws: KingfisherError.requestError(reason: .taskCancelled)) { try await first.value }
        transport.open()
        #expect(try await second.value.way == .fetched)
        #expect(transport.requests.count == 1)
        _ = try await manager.retrieveImage(with: url, options: [.requestModifier(modifier)])
        #expect(tasks.withLock { $0.count } == 2)
    }

    private final class Delegate: ImageDownloaderDelegate {
        let events = Mutex<[String]>([])
        let wantsUnprocessedImages: Bool

        init(wantsUnprocessedImages: Bool = true) { self.wantsUnprocessedImages = wantsUnprocessedImages }

        func imageDownloader(willDownloadImageFor url: RequestURL, with request: ImageDownloadRequest) {
            let signed = request.headers.first { $0.name == "X-Signed" }?.value
            events.withLock { $0.append("will \(request.url?.text ?? "") \(signed ?? "")") }
        }

        func imageDownloader(didDownload image: Image, for url: RequestURL, with response: ResponseFacts?) {
            events.withLock { $0.append("image \(image.width) \(response?.status ?? 0)") }
        }
    }

    @Test("The delegate sees the requests and images of a manager")
    func delegate() async throws {
        let delegate = Delegate()
        manager.downloader.delegate = delegate
        let modifier = AnyModifier { request in
            var request = request
            request.headers.append(("X-Signed", "yes"))
            return request
        }
        let width = try ImageDecoder.decode(ManagerFixture.fixture("png/rgb.png")).width
        _ = try await manager.retrieveImage(with: url, options: [.requestModifier(modifier)])
        #expect(delegate.events.withLock { $0 } == ["will http://h/a.png yes", "image \(width) 200"])
        _ = try await manager.retrieveImage(
            with: url, options: [.processor(ResizingImageProcessor(width: 5, height: 5)), .forceRefresh])
        #expect(delegate.events.withLock { $0.suffix(2) } == ["will http://h/a.png ", "image 5 200"])
        let modest = Delegate(wantsUnprocessedImages: false)
        manager.downloader.delegate = modest
        _ = try await manager.retrieveImage(with: url, options: [.forceRefresh])
        #expect(modest.events.withLock { $0 } == ["will http://h/a.png "])
    }

    @Test("A prefetcher lists skipped, failed and completed sources")
    func prefetching() async throws {
        _ = try await manager.retrieveImage(with: url, options: [.waitForCache])
        let urls = try [url, RequestURL("http://h/b.png"), RequestURL("http://h/missing")]
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
    }

    @Test("A prefetcher can fill another cache")
    func prefetchers() async throws {
        let other = ImageCache(.init(directory: fixture.directory.url.appendingPathComponent("other").path))
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
