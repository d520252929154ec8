import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The downloader", .bounded)
struct ImageDownloaderTests {
    private let transport: ScriptedTransport
    private let fixture: ManagerFixture
    private let body: [UInt8]
    private let url: RequestURL
    private var manager: KingfisherManager { fixture.manager }
    private var downloader: ImageDownloader { manager.downloader }

    init() throws {
        body = try ManagerFixture.fixture("png/rgb.png")
        transport = ScriptedTransport(.init(body: body))
        fixture = try ManagerFixture(transport: transport)
        url = try RequestURL("http://h/a.png")
    }

    @Test("A download takes a list of options")
    func downloading() async throws {
        let options: KingfisherOptionsInfo = [
            .processor(ResizingImageProcessor(width: 5, height: 5)), .downloadPriority(0.1),
        ]
        #expect(try await downloader.downloadImage(with: url).url == url)
        #expect(try await downloader.downloadImage(with: url, options: options).image.width == 5)
        #expect(transport.requests.last?.priority == 0.1)
        let received = SharedValue<Int64>(0)
        let result = await withCheckedContinuation { continuation in
            downloader.downloadImage(with: url, options: options, progressBlock: { count, _ in received.value = count })
            {
                continuation.resume(returning: $0)
            }
        }
        let loaded = try result.get()
        #expect(loaded.image.width == 5 && received.value == Int64(loaded.originalData.count))
    }

    @Test("A download with another hash than the expected one fails", arguments: [ContentHash.Function.sha256, .md5])
    func pinned(function: ContentHash.Function) async throws {
        var options = KingfisherOptions()
        options.expectedHash = function.hash(of: body)
        #expect(try await downloader.downloadImage(with: url, options: options).originalData == body)
        let wrong = function.hash(of: Array("other".utf8))
        options.expectedHash = wrong
        let failure = KingfisherError.responseError(
            reason: .unexpectedContent(
                expected: wrong.description, found: function.hash(of: body).description, bytes: Int64(body.count)))
        await #expect(throws: failure) { try await downloader.downloadImage(with: url, options: options) }
    }

    @Test("Cancelling one URL leaves the downloads of others")
    func cancelByURL() async throws {
        transport.close()
        let (downloader, one, two) = (downloader, url, try RequestURL("http://h/b.png"))
        let first = Task { try await downloader.downloadImage(with: one) }
        let second = Task { try await downloader.downloadImage(with: two) }
        await transport.requested(2)
        downloader.cancel(url: one)
        await #expect(throws: KingfisherError.requestError(reason: .taskCancelled)) { try await first.value }
        let third = Task { try await downloader.downloadImage(with: one) }
        await transport.requested(3)
        downloader.cancelAll()
        for task in [second, third] {
            await #expect(throws: KingfisherError.requestError(reason: .taskCancelled)) { try await task.value }
        }
    }

    @Test("A URL can be downloaded again while its cancellation ends")
    func restart() async throws {
        transport.close()
        let (downloader, url) = (downloader, url)
        let first = Task { try await downloader.downloadImage(with: url) }
        await transport.requested(1)
        first.cancel()
        let second = Task { try await downloader.downloadImage(with: url) }
        await transport.requested(2)
        transport.open()
        await #expect(throws: KingfisherError.self) { try await first.value }
        #expect(try await second.value.originalData == body)
    }

    @Test("Calls with different processors share one download")
    func processors() async throws {
        transport.close()
        let (downloader, url) = (downloader, url)
        let made = SharedValue<[String]>([])
        let tasks = ["one", "two", "one", "two"].map { name in
            let counting = CustomImageProcessor(identifier: name) { bitmap throws(ImagingError) in
                made.change { $0.append(name) }
                return bitmap
            }
            return Task { try await downloader.downloadImage(with: url, options: [.processor(counting)]) }
        }
        await transport.requested(1)
        #expect(await eventually { downloader.work.waiterCount == 4 })
        transport.open()
        for task in tasks { #expect(try await task.value.originalData == body) }
        #expect(transport.requests.count == 1)
        #expect(made.value.sorted() == ["one", "two"])
    }

    // MARK: Modifiers

    @Test("A modifier can refuse a request")
    func refusing() async throws {
        for (request, code) in [(nil, 1001), (ImageDownloadRequest(url: nil), 1002)] {
            let options: KingfisherOptionsInfo = [.requestModifier(AnyModifier { _ in request })]
            #expect(
                await failure { try await downloader.downloadImage(with: url, options: options) }?.errorCode == code)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("A modifier can change the URL and the headers", arguments: [nil, "signer"])
    func modified(_ identity: String?) async throws {
        let other = try RequestURL("http://other/b.png")
        let modifier = AnyModifier(cacheIdentity: identity) { request in
            var request = request
            request.url = other
            request.headers.append(("X-Signed", "yes"))
            return request
        }
        let result = try await downloader.downloadImage(with: url, options: [.requestModifier(modifier)])
        #expect(result.url == other && transport.requests.map(\.url) == [other.text])
        #expect(transport.requests[0].headers.contains { $0 == ("X-Signed", "yes") })
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

    // MARK: The delegate

    private final class Delegate: ImageDownloaderDelegate {
        private let noted = SharedValue<[String]>([])
        let refusesData: Bool
        let disposition: ResponseDisposition
        let accepted: Set<Int>
        let wantsUnprocessedImages: Bool

        init(
            refusesData: Bool = false, disposition: ResponseDisposition = .allow, accepted: Set<Int> = [200],
            wantsUnprocessedImages: Bool = true
        ) {
            (self.refusesData, self.disposition, self.accepted) = (refusesData, disposition, accepted)
            self.wantsUnprocessedImages = wantsUnprocessedImages
        }

        var events: [String] { noted.value }

        private func note(_ event: String) { noted.change { $0.append(event) } }

        func imageDownloader(willDownloadImageFor url: RequestURL, with request: ImageDownloadRequest) {
            note("will \(request.url?.text ?? "") \(request.headers.first { $0.name == "X-Signed" }?.value ?? "")")
        }

        func imageDownloader(
            didFinishDownloadingImageFor url: RequestURL, with response: ResponseFacts?, error: KingfisherError?
        ) { note("finish \(error?.errorCode ?? response?.status ?? 0)") }

        func imageDownloader(didDownload data: [UInt8], for url: RequestURL) -> [UInt8]? {
            note("data")
            return refusesData ? nil : data
        }

        func imageDownloader(didDownload image: Image, for url: RequestURL, with response: ResponseFacts?) {
            note("image \(image.width) \(response?.status ?? 0)")
        }

        func isValidStatusCode(_ code: Int) -> Bool { accepted.contains(code) }

        func imageDownloader(didReceive response: ResponseFacts, for url: RequestURL) async -> ResponseDisposition {
            note("response")
            return disposition
        }
    }

    @Test("The delegate gets each event once and in order")
    func delegate() async throws {
        let delegate = Delegate()
        downloader.delegate = delegate
        let modifier = AnyModifier { request in
            var request = request
            request.headers.append(("X-Signed", "yes"))
            return request
        }
        let width = try ImageDecoder.decode(body).width
        _ = try await manager.retrieveImage(with: url, options: [.requestModifier(modifier)])
        #expect(
            delegate.events == ["will http://h/a.png yes", "response", "data", "finish 200", "image \(width) 200"])
        _ = try await manager.retrieveImage(
            with: url, options: [.processor(ResizingImageProcessor(width: 5, height: 5)), .forceRefresh])
        #expect(delegate.events[5] == "will http://h/a.png " && delegate.events.last == "image 5 200")
        let modest = Delegate(wantsUnprocessedImages: false)
        downloader.delegate = modest
        _ = try await manager.retrieveImage(with: url, options: [.forceRefresh])
        #expect(modest.events == ["will http://h/a.png ", "response", "data", "finish 200"])
    }

    @Test("The delegate can end a download with its own error")
    func refused() async throws {
        for (delegate, code, events) in [
            (Delegate(refusesData: true), 2004, ["response", "data", "finish 2004"]),
            (Delegate(disposition: .cancel), 2006, ["response", "finish 2006"]),
        ] {
            downloader.delegate = delegate
            #expect(await failure { try await downloader.downloadImage(with: url) }?.errorCode == code)
            #expect(delegate.events.dropFirst() == events[...])
        }
    }

    @Test("The delegate decides which statuses are accepted")
    func statusHook() async throws {
        let downloader = ImageDownloader(.init(), transport: ScriptedTransport(.init(status: 418, body: body)))
        await #expect(throws: KingfisherError.self) { try await downloader.downloadImage(with: url) }
        let delegate = Delegate(accepted: [418])
        downloader.delegate = delegate
        #expect(try await downloader.downloadImage(with: url).response?.status == 418)
    }
}
